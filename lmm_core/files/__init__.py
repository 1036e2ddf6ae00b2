"""Find files, replace them atomically, and remove only folders of ours.

Imports the standard library, `errors` and `logging`; `pathspec` when a .gitignore is read."""
