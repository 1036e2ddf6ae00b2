"""Quarto projects: set up, rendered, checked for leaks, and given an ask box.

May import `workflows` and what stands below.
"""
