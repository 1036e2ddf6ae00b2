"""The YAML of metadata blocks: parsing, editing, ownership of keys.

Imports the standard library, PyYAML and `markdown.blocks`.
"""
