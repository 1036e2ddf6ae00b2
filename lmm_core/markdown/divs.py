"""The fenced and HTML divs in a text, and the metadata blocks in them, at any depth.

The parser keeps a div whole, as text. Knitting has to look inside, since RAG-only parts and
metadata may stand anywhere, also in lists, quotes, footnotes, definitions and HTML elements.
"""

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
    """Return the divs and metadata blocks inside a text, by their starts.

    Fenced divs that are not closed count as text."""
    return find_parts_and_cuts(text, lambda part: None)[0]


def parts_by_line(text: str) -> Iterator[tuple[int, Part, str]]:
    """Yield each part of a text with its line (from 0) and its own text, without quote marks."""
    for part in find_parts(text):
        yield text.count("\n", 0, part.start), part, _QUOTED.sub("", text[part.start : part.end])


def find_cuts(text: str, goes: Goes, container: bool = False) -> list[Cut]:
    """Return the ranges that have to go from a text, ordered and without overlap.

    goes: decides about a div, or about what a metadata block annotates (the block itself always
    goes); container: the text is the inside of a container and has blocks of its own."""
    return find_parts_and_cuts(text, goes, container)[1]


def find_parts_and_cuts(text: str, goes: Goes, container: bool = False) -> tuple[list[Part], list[Cut]]:
    """Return the parts of a text (see `find_parts`) but those inside others that go, and the cuts (see `find_cuts`)."""
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
    """Yield the same as pairs of start and end."""
    for found in find_cuts(text, goes):
        yield found.start, found.end


def without(text: str, cuts: Iterable[tuple[int, int]], lines: bool = False) -> str:
    """Return a text without some ranges.

    lines: leave empty lines for what goes, so that lines keep their numbers."""
    kept, at = [], 0
    for start, end in cuts:
        kept += [text[at:start], "\n" * text.count("\n", start, end) if lines else ""]
        at = end
    return "".join(kept) + text[at:]
