"""HTML pages that workflows write, with their templates.

May import what `workflows` may.
"""
