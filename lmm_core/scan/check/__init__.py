"""Checks of documents: slips that would show what was to be left out of the notes.

May import `files`, `markdown` and `models`.
"""
