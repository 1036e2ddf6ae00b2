"""The YAML of metadata blocks: read, edited, and whose each key is.

Imports the standard library and PyYAML, and `markdown.blocks`.
"""
