"""Models that turn texts into vectors, and cross-encoders, which rank texts.

May import `errors`, `logging`, `files`, `markdown` and the other modules of `models`.
"""
