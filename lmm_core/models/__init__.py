"""Chat models, embedders and rerankers behind small protocols; names and roles of models; prompts.

Imports `errors`, `logging`, `files` and `markdown`. Clients and libraries of models are
imported when the first of their models is made.
"""
