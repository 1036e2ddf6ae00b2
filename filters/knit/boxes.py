"""Find the boxes among Pandoc's elements of which nothing stays (see `lmm_core.scan.boxes`)."""

from __future__ import annotations

from collections.abc import Sequence

from lmm_core.scan.boxes import is_callout, is_tabset

from ..pandoc.json_tree import Json, attributes_of


def is_emptied(element: Json, before: Sequence[Json]) -> bool:
    """Return True if an element that has lost something is a box without content. A callout may have its title left.

    before: what it held. Of a tabset, the headings of the tabs that have lost all they held are taken out."""
    if element["t"] not in ("Div", "BlockQuote"):
        return False
    attributes = attributes_of(element)
    content = element["c"][1] if element["t"] == "Div" else element["c"]
    if is_tabset(attributes):
        content[:] = _full_tabs(content, before)
    return (is_callout(attributes) and all(one["t"] == "Header" for one in content)) or not content


def _full_tabs(content: Sequence[Json], before: Sequence[Json]) -> list[Json]:
    """Return the content of a tabset without the headings of the tabs that have lost all they held."""
    kept = {id(element) for element in content}
    drop: set[int] = set()
    head, had, has = None, False, False
    for element in [*before, None]:
        if element is None or element["t"] == "Header":
            if head is not None and had and not has:
                drop.add(id(head))
            head, had, has = element, False, False
        else:
            had, has = True, has or id(element) in kept
    return [element for element in content if id(element) not in drop]
