"""Annotations of sections: their sources, which ones a section needs, and how they are taken out.

May import `files`, `markdown`, `models` and the other modules of `scan`."""
