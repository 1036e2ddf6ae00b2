"""LM markdown: notes in markdown that writer and language model work on together."""

__version__ = "0.1.0"
