"""Checks for mistakes that would publish hidden material.

May import `files`, `markdown` and `models`.
"""
