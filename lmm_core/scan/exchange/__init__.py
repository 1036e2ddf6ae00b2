"""Questions and requests for edits in metadata blocks, and their results.

May import `files`, `markdown`, `models` and the other modules of `scan`.
"""
