"""Students' questions and how the notes answered: recordings, groups of questions, a page, and proposals.

May import what `study` may.
"""
