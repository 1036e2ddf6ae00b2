"""The files of the ask box itself, which come with the extension."""

from __future__ import annotations

from pathlib import Path

from ..extension import packaged_extension

OPENED = "opened.js"
# What runs when a box is opened first, in this order. All is one file in a site, which a browser has sooner than many.
PARTS = ("words.js", "page.js", "formulas.js", "index.js", "search.js", "study.js", "answer.js", "box.js")


def box_files() -> dict[str, str]:
    """Return the texts of the box's files by their names. Raise QuartoError if they are missing, and OSError."""
    texts = {path.name: _text(path) for path in sorted((packaged_extension() / "ask").iterdir())}
    texts[OPENED] = "".join(texts.pop(name) for name in PARTS)
    return texts


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
