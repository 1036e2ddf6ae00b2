"""Rank passages and sections by words, and fuse rankings."""
