"""Divs and metadata blocks nested anywhere in a text block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .containers.explorer import Cut, Explorer, Goes, Part, has_marks

__all__ = [
    "Cut",
    "Goes",
    "Part",
    "cut",
    "find_cuts",
    "find_parts",
    "find_parts_and_cuts",
    "has_marks",
    "parts_by_line",
    "without",
]

_QUOTED = re.compile(r"^[ \t]*>[ ]?", re.M)


def find_parts(text: str) -> list[Part]:
    """Return the divs and metadata blocks in a text, sorted by start."""
    return find_parts_and_cuts(text, lambda part: None)[0]


def parts_by_line(text: str) -> Iterator[tuple[int, Part, str]]:
    """Yield each part with its line (from 0) and unquoted text."""
    for part in find_parts(text):
        yield text.count("\n", 0, part.start), part, _QUOTED.sub("", text[part.start : part.end])


def find_cuts(text: str, goes: Goes, container: bool = False) -> list[Cut]:
    """Return the ranges to remove from a text, sorted and disjoint.

    goes: predicate for a div or a metadata scope
    container: the text is a container's content
    """
    return find_parts_and_cuts(text, goes, container)[1]


def find_parts_and_cuts(text: str, goes: Goes, container: bool = False) -> tuple[list[Part], list[Cut]]:
    """Return parts (none nested in a cut) and cuts."""
    if not has_marks(text):
        return [], []
    explorer = Explorer(text, goes)
    explorer.explore(container)
    cuts: list[Cut] = []
    for cut in sorted(explorer.cuts, key=lambda cut: (cut.start, -cut.end)):
        if not cuts or cut.start >= cuts[-1].end:
            cuts.append(cut)
        elif cut.end > cuts[-1].end:
            cut.start = cuts[-1].end
            cuts.append(cut)
    return sorted(explorer.parts, key=lambda part: (part.start, -part.end)), cuts


def cut(text: str, goes: Goes) -> Iterator[tuple[int, int]]:
    """Yield the cuts as pairs of start and end."""
    for cut_range in find_cuts(text, goes):
        yield cut_range.start, cut_range.end


def without(text: str, cuts: Iterable[tuple[int, int]], lines: bool = False) -> str:
    """Return a text without some ranges; `lines` keeps their line ends."""
    pieces, at = [], 0
    for start, end in cuts:
        pieces += [text[at:start], "\n" * text.count("\n", start, end) if lines else ""]
        at = end
    return "".join(pieces) + text[at:]
