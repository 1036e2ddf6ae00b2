"""Passes over the documents of a project: files are read, worked on with the project's settings, and written.

Each name is imported from its module.
"""
