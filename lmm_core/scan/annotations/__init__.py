"""Annotations of sections: what they are made from, which ones a section needs, and whether they
are current.

May import `files`, `markdown`, `models` and the other modules of `scan`.
"""
