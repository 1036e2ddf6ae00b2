"""Agents' tools on a library."""
