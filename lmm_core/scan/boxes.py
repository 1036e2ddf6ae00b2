"""Divs (callouts, tabs, columns) left empty by removed parts, which readers would notice."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from ..markdown.blocks import BOM, Attributes
from ..markdown.divs import Part, cut, find_parts_and_cuts

_HEADING = re.compile(r"^[ ]{0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)", re.M)


def has_titles(attributes: Attributes) -> bool:
    """Return True for a callout or tabset, whose headings are titles."""
    return any(name in ("callout", "panel-tabset") or name.startswith("callout-") for name in attributes.classes)


def cut_with_boxes(text: str, goes: Callable[[Part], bool | None]) -> Iterator[tuple[int, int]]:
    """Yield the ranges to remove, and the boxes that this empties."""
    lead = len(BOM) if text.startswith(BOM) else 0
    parts, cuts = find_parts_and_cuts(text[lead:], goes)
    ranges = [(cut.start, cut.end) for cut in cuts]
    if emptied := _find_emptied(text[lead:], parts, [*ranges]):
        ranges = [*cut(text[lead:], lambda part: part.start in emptied or goes(part))]
    for start, end in ranges:
        yield start + lead, end + lead


def _find_emptied(text: str, parts: Sequence[Part], cuts: list[tuple[int, int]]) -> set[int]:
    emptied: set[int] = set()
    for part in reversed(parts):  # inner parts first
        if part.metadata is not None or part.error or not text.startswith(":::", part.start):
            continue
        first = bisect_left(cuts, (part.start + 1, 0))
        last = bisect_left(cuts, (part.end, 0), lo=first)
        is_cut = first > 0 and cuts[first - 1][1] >= part.end
        if first < last and not is_cut and _is_empty(text, part, cuts[first:last]):
            emptied.add(part.start)
            cuts[first:last] = [(part.start, part.end)]
    return emptied


def _is_empty(text: str, part: Part, cuts: list[tuple[int, int]]) -> bool:
    start, end = text.find("\n", part.start) + 1, text.rfind("\n", 0, part.end - 1) + 1
    starts, ends = [start, *(to for _, to in cuts)], [*(at for at, _ in cuts), end]
    rest = "".join(text[gap_start:gap_end] for gap_start, gap_end in zip(starts, ends, strict=True))
    return not (_HEADING.sub("", rest) if has_titles(part.attributes) else rest).strip()
