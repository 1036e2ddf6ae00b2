"""From a document to points: split into chunks, encoded, and refreshed in a store.

May import `files`, `markdown`, `models`, `settings`, `scan` and `store`.
"""
