"""The exchange of documents with pandoc.

May import `lmm_core`, and of the filters only `errors`.
"""
