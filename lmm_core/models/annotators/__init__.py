"""Models that write the annotations of a section: a chat model, or a stand-in without one.

May import `files` and `markdown`.
"""
