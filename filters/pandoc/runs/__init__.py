"""The run of pandoc around a filter: process, command line, files; and inner runs."""
