"""The files of the ask box itself, which come with the extension."""

from __future__ import annotations

from ..extension import packaged_extension

OPENED = "opened.js"
# What runs when a box is opened first, in this order. All is one file in a site, which a browser has sooner than many.
PARTS = ("words.js", "page.js", "formulas.js", "minisearch.js", "search.js", "study.js", "answer.js", "box.js")


def box_files() -> dict[str, bytes]:
    """Return the box's files by name. Raise QuartoError if they are missing, and OSError."""
    files = {path.name: path.read_bytes() for path in sorted((packaged_extension() / "ask").iterdir())}
    files[OPENED] = b"".join(files.pop(name) for name in PARTS)
    return files
