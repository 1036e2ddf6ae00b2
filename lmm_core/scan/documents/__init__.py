"""Run passes on the files of a project: read a file, work with the project's settings, write the result."""
