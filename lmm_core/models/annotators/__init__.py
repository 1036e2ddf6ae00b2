"""Annotators write a section's questions and summary, with or without a model.

May import `errors`, `logging`, `files`, `markdown` and the rest of `models`.
"""
