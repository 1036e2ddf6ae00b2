"""Answers without a model, which quote the notes: what is quoted, which sentences of it, and how they read."""
