"""Chat models, embedders and rerankers behind protocols; their names, roles and prompts.

Imports `errors`, `logging`, `files` and `markdown`; clients and libraries only with the first model.
"""
