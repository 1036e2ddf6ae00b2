"""LLMD: one markdown file in which a person and a model work on a project.

May import what `study` may.
"""
