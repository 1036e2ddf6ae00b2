"""Checks of a document for slips that would show what is meant to be left out.

May import `files`, `markdown` and `models`.
"""
