"""Pandoc filters, which run passes on Pandoc's JSON.

They may import all of `lmm_core` but `cli`; nothing imports them.
"""
