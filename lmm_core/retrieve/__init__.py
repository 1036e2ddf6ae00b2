"""Retrieve passages for a question, build a context within a budget, and answer with citations.

Includes the agents' tools. May import `index` and its imports.
"""
