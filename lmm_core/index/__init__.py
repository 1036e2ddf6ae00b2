"""From a text to points: documents are split into chunks, encoded, and refreshed in a store.

May import `files`, `markdown`, `models`, `scan`, `settings` and `store`.
"""
