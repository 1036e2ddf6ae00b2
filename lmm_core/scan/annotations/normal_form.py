"""The normal form of a text, for hashes that do not change when lines are wrapped anew."""

from __future__ import annotations

import re

from ...markdown.regions import split_fences


def normalize(text: str) -> str:
    """Return a text with LF as line ends and white space in prose collapsed to single blanks.

    Blank lines stay as paragraph breaks; fenced and indented code stays exact.
    """
    parts = split_fences(text.replace("\r\n", "\n"))
    normal = [part.rstrip("\n") if code else _prose(part) for code, part in parts]
    return "\n\n".join(part for part in normal if part)


def _prose(text: str) -> str:
    paragraphs = (part.rstrip() if _is_code(part) else " ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(part for part in paragraphs if part.strip())


def _is_code(paragraph: str) -> bool:
    return paragraph.lstrip("\n").startswith(("    ", "\t"))
