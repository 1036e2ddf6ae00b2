"""Checks of a document for mistakes that would show hidden material.

May import `files`, `markdown` and `models`."""
