"""Work on LLMD documents and the files that they are about; nothing that a document or a model says is ever run.

May import what `workflows` may.
"""
