"""Files and folders on disk: which may be written, which are ours to remove. Imports the
standard library alone, and pathspec where a .gitignore is read."""
