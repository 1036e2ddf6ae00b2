"""Read the ask box's scripts from the extension."""

from __future__ import annotations

from ..extension import packaged_extension

OPENED = "opened.js"
# Loaded when a box is opened, in this order, as one file to save requests
PARTS = ("words.js", "page.js", "formulas.js", "minisearch.js", "search.js", "study.js", "answer.js", "box.js")


def box_files() -> dict[str, bytes]:
    """Return the box's files by name. Raise QuartoError if missing, and OSError."""
    files = {path.name: path.read_bytes() for path in sorted((packaged_extension() / "ask").iterdir())}
    files[OPENED] = b"".join(files.pop(name) for name in PARTS)
    return files
