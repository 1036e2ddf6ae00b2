"""What students asked and how the notes answered: recordings, and what a teacher learns from them.

May import what retrieval may, and retrieval; `workflows` and `serving` stand on it.
"""
