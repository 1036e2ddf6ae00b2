"""Vector stores in a folder, in memory, or on a server, behind one protocol.

May import `errors`, `files`, `markdown` and `models`. Qdrant's libraries are imported with the first store.
"""
