"""Vector stores behind one protocol: collections of points in a folder, in memory, or on a server.

May import `errors`, `files`, `markdown` and `models`. Qdrant's libraries are imported when a
store is opened.
"""
