"""Texts of writers, enclosed in tags that they cannot end early, to be shown to a model."""

from __future__ import annotations

import re

# The tags that prompts put around texts; no others are touched.
_NAMES = "source|notes|outline|passage|question|earlier|text"
_OPEN = re.compile(rf"<(?=\\*\s*/?\s*(?:{_NAMES})\b)", re.I)


def as_data(text: str) -> str:
    """Return a text with a backslash in whatever looks like one of our tags: `<\\/source>`.

    No other character changes."""
    return _OPEN.sub(r"<\\", text)


def enclose(tag: str, text: str, number: int = 0) -> str:
    """Return a text as data between tags, with `number` in the opening tag unless it is 0."""
    said = f' n="{number}"' if number else ""
    return f"<{tag}{said}>\n{as_data(text)}\n</{tag}>"
