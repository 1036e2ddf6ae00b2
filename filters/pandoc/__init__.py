"""A document on its way through a filter: read from pandoc, and handed back to it."""
