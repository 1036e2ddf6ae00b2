"""Merge consecutive passages."""

from __future__ import annotations

from collections.abc import Sequence

from ..indexing.passages import Passage

SHORTEST_OVERLAP = 8  # characters; shorter matches are chance


def merge(passages: Sequence[Passage]) -> str:
    """Join consecutive passages without repeated text."""
    text, last = "", 0
    for passage in passages:
        if size := repeated(text, last, passage):
            text = text.rstrip() + passage.text[size:]
        elif text:
            gap = passage.line_start - last
            text += (" " if gap <= 0 else "\n" if gap == 1 else "\n\n") + passage.text
        else:
            text = passage.text
        last = passage.line_end
    return text


def repeated(before: str, last: int, passage: Passage) -> int:
    """Return the length of the overlap, or the repeated table head, at a passage's start.

    last: the line where the text before ends"""
    return (_overlap(before, passage) or _table_header(before, passage)) if _may_repeat(passage, last) else 0


def _may_repeat(passage: Passage, last: int) -> bool:
    """Return True if a passage starts in the line `last`, or is longer than its place."""
    return passage.line_start <= last or passage.text.count("\n") > passage.line_end - passage.line_start


def _overlap(before: str, passage: Passage) -> int:
    """Return the length of the overlap in whole words."""
    before, text = before.rstrip(), passage.text
    start = text[:SHORTEST_OVERLAP]
    at = before.find(start, max(0, len(before) - len(text))) if len(start) == SHORTEST_OVERLAP else -1
    while at >= 0:
        if text.startswith(before[at:]) and (at == 0 or before[at - 1].isspace()):
            return len(before) - at
        at = before.find(start, at + 1)
    return 0


def _table_header(before: str, passage: Passage) -> int:
    """Return the length of the repeated table head, or 0."""
    lines = passage.text.split("\n")
    header = "\n".join(lines[: max(0, len(lines) - (passage.line_end - passage.line_start + 1))])
    return len(header) if header.startswith(("|", "+-")) and header in before else 0
