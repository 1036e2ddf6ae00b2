"""Annotations of sections: sources, needs, removal.

May import `files`, `markdown`, `models` and the other modules of `scan`.
"""
