"""Boxes: divs (callouts, tabs, columns, margin notes) that are left empty when a part inside them
is left out of the notes.

They are left out as well, since an empty box tells readers that something is missing. A box that
the writer left empty stays.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from ..markdown.blocks import BOM, Attributes
from ..markdown.divs import Part, cut, find_parts

Cuts = list[tuple[int, int]]
_HEADING = re.compile(r"^[ ]{0,3}#{1,6}(?:[ \t][^\n]*)?(?:\n|\Z)", re.M)


def is_callout(attributes: Attributes) -> bool:
    """Return True if a div is a callout, whose heading is its title."""
    return any(name == "callout" or name.startswith("callout-") for name in attributes.classes)


def is_tabset(attributes: Attributes) -> bool:
    """Return True if a div is a tabset, in which each heading begins a tab."""
    return "panel-tabset" in attributes.classes


def cut_with_boxes(text: str, goes: Callable[[Part], bool | None]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text that go (see `cut`), with the boxes that they leave empty."""
    lead = len(BOM) if text.startswith(BOM) else 0
    for start, end in _cuts_with_boxes(text[lead:], goes):
        yield start + lead, end + lead


def _cuts_with_boxes(text: str, goes: Callable[[Part], bool | None]) -> Iterator[tuple[int, int]]:
    cuts = list(cut(text, goes))
    boxes = _Boxes(text, list(cuts)) if cuts else None
    if boxes is None or not (boxes.emptied or boxes.tabs):
        yield from cuts
        return
    whole = cut(text, lambda part: part.start in boxes.emptied or goes(part))
    yield from _united([*whole, *boxes.tabs])


def _united(cuts: Cuts) -> Iterator[tuple[int, int]]:
    """Yield ranges in their order, overlapping ones as one."""
    at: tuple[int, int] | None = None
    for start, end in sorted(cuts):
        if at is not None and start < at[1]:
            at = at[0], max(at[1], end)
            continue
        if at is not None:
            yield at
        at = start, end
    if at is not None:
        yield at


class _Boxes:
    """Finds the boxes that cuts leave empty: `emptied` holds the starts of the divs, `tabs` the
    ranges of the tabs."""

    def __init__(self, text: str, cuts: Cuts) -> None:
        self.text = text
        self.cuts = cuts
        self.emptied: set[int] = set()
        self.tabs: Cuts = []
        for part in reversed(find_parts(text)):  # those inside others first
            if part.metadata is None and not part.error and text.startswith(":::", part.start):
                self._look(part)

    def _look(self, part: Part) -> None:
        first = bisect_left(self.cuts, (part.start + 1, 0))
        last = bisect_left(self.cuts, (part.end, 0), lo=first)
        if first == last or self._is_cut(part, first):
            return
        start, end = self.text.find("\n", part.start) + 1, self.text.rfind("\n", 0, part.end - 1) + 1
        if is_tabset(part.attributes):
            last += self._cut_tabs(start, end, first, last)
        rest = list(self._rest(start, end, self.cuts[first:last]))
        has_title = is_callout(part.attributes) and bool(rest)
        if not rest or (has_title and not _HEADING.sub("", "".join(rest)).strip()):
            self.emptied.add(part.start)
            self.cuts[first:last] = [(part.start, part.end)]

    def _is_cut(self, part: Part, first: int) -> bool:
        return first > 0 and self.cuts[first - 1][1] >= part.end

    def _rest(self, start: int, end: int, cuts: Cuts) -> Iterator[str]:
        """Yield the parts of a range that stay and are not blank."""
        for left, right in zip([start, *(to for _, to in cuts)], [*(at for at, _ in cuts), end], strict=True):
            if left < right and (piece := self.text[left:right]).strip():
                yield piece

    def _cut_tabs(self, start: int, end: int, first: int, last: int) -> int:
        """Cut the tabs of which only the heading stays. Return how many cuts were added."""
        inside = self.cuts[first:last]
        heads = [found for found in _HEADING.finditer(self.text, start, end) if _is_outside(found.start(), inside)]
        for head, stop in zip(heads, [*(found.start() for found in heads[1:]), end], strict=True):
            own = [one for one in inside if head.end() <= one[0] < stop]
            if own and not any(self._rest(head.end(), stop, own)):
                self.tabs.append((head.start(), stop))
        tabs = [tab for tab in self.tabs if start <= tab[0] < end]
        united = list(_united([*inside, *tabs])) if tabs else inside
        self.cuts[first:last] = united
        return len(united) - len(inside)


def _is_outside(at: int, cuts: Sequence[tuple[int, int]]) -> bool:
    place = bisect_left(cuts, (at + 1, 0))
    return not place or cuts[place - 1][1] <= at
