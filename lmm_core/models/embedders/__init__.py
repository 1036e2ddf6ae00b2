"""Models that turn texts into vectors, and those that rank texts.

May import `files` and `markdown`.
"""
