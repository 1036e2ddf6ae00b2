"""Embedding models, and cross-encoders for ranking.

May import `errors`, `logging`, `files`, `markdown` and the rest of `models`.
"""
