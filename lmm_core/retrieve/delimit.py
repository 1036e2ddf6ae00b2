"""What writers wrote, as a model is shown it: between tags that it cannot end early."""

from __future__ import annotations

import re

# The tags that prompts put around texts; no others are touched.
_NAMES = "source|notes|outline|passage|question|earlier|text"
_OPEN = re.compile(rf"<(?=\\*\s*/?\s*(?:{_NAMES})\b)", re.I)
_MARKED = re.compile(rf"<\\(?=\\*\s*/?\s*(?:{_NAMES})\b)", re.I)


def as_data(text: str) -> str:
    """The text with a backslash in what looks like one of our tags: `<\\/source>`. No other
    character changes, and `from_data` takes the backslashes out again."""
    return _OPEN.sub(r"<\\", text)


def from_data(text: str) -> str:
    """The text that `as_data` was given."""
    return _MARKED.sub("<", text)


def enclose(tag: str, text: str, number: int = 0) -> str:
    """The text as data between tags, numbered where a number is given."""
    said = f' n="{number}"' if number else ""
    return f"<{tag}{said}>\n{as_data(text)}\n</{tag}>"
