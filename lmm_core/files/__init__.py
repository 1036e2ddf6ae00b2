"""Files and folders on disk: found, written whole or not at all, and removed only if ours.

Imports the standard library, `errors` and `logging`; `pathspec` when a .gitignore is read.
"""
