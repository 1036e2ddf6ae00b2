"""Chunks in a vector store: encoding, collections, upload, query."""
