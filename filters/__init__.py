"""Pandoc filters: each reads the document, runs a pass on it and writes it."""
