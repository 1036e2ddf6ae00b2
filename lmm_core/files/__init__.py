"""Walking folders, atomic writes, and safe removal.

Imports the standard library, `errors` and `logging`; `pathspec` when a .gitignore is read.
"""
