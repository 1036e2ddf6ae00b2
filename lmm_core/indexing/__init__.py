"""Turn documents into points: split, encode, and refresh a store.

May import `files`, `markdown`, `models`, `settings`, `scan` and `store`.
"""
