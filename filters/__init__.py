"""The Pandoc filters: each reads the document, runs a pass on it and writes it.

They may import all of `lmm_core` but `cli`; nothing imports them."""
