"""Normal form of a text, for hashes: what re-wrapping does not change."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(^[ \t]*(`{3,}|~{3,})[^\n]*\n(?:.*?\n)??[ \t]*\2[`~]*[ \t]*$)", re.M | re.S)


def normalize(text: str) -> str:
    """Line ends as LF; white space in prose collapsed to single blanks, blank lines
    kept as paragraph breaks; fenced and indented code exact."""
    parts = _FENCE.split(text.replace("\r\n", "\n"))
    # split gives prose, code, fence sign, prose, …
    normal = [part if at % 3 == 1 else _prose(part) for at, part in enumerate(parts) if at % 3 != 2]
    return "\n\n".join(part for part in normal if part)


def _prose(text: str) -> str:
    paragraphs = (part.rstrip() if _is_code(part) else " ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(part for part in paragraphs if part.strip())


def _is_code(paragraph: str) -> bool:
    return paragraph.lstrip("\n").startswith(("    ", "\t"))
