"""HTML pages that workflows write.

May import what `workflows` may.
"""
