"""The exchange with a model through metadata blocks: questions, requests for edits, and their
results.

May import `files`, `markdown`, `models` and the other modules of `scan`.
"""
