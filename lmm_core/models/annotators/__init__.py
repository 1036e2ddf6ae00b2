"""Annotators: they write the questions and the summary of a section, with or without a model.

May import `errors`, `logging`, `files`, `markdown` and the other modules of `models`.
"""
