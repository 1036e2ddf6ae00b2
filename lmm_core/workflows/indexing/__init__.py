"""Index a project's files, and search in the index.

May import what `workflows` may.
"""
