"""What the annotations of a section are made from, and whether they are current.

May import `files`, `markdown` and `models`.
"""
