"""What is known of texts that have not changed: which of the keys that are looked for they have.

A leak is looked for by its keys (`keys`). What a text says (`said`) and which keys a document gives
(`notes`) are findings that depend on nothing but bytes and settings; `memory` keeps them.
"""
