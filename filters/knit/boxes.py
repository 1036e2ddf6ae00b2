"""Find the boxes among Pandoc's elements of which nothing stays (see `lmm_core.scan.boxes`)."""

from __future__ import annotations

from collections.abc import Sequence

import panflute as pf

from lmm_core.scan.boxes import is_callout, is_tabset

from ..pandoc.elements import attributes_of


def is_emptied(element: pf.Element, before: Sequence[pf.Element]) -> bool:
    """Return True if an element that has lost something is a box without content. A callout may have its title left.

    before: what it held. Of a tabset, the headings of the tabs that have lost all they held are taken out."""
    if not isinstance(element, pf.Div | pf.BlockQuote):
        return False
    attributes = attributes_of(element)
    if is_tabset(attributes):
        element.content = _full_tabs(element.content, before)
    return (
        is_callout(attributes) and all(isinstance(one, pf.Header) for one in element.content)
    ) or not element.content


def _full_tabs(content: Sequence[pf.Element], before: Sequence[pf.Element]) -> list[pf.Element]:
    """Return the content of a tabset without the headings of the tabs that have lost all they held."""
    kept = {id(element) for element in content}
    drop: set[int] = set()
    head, had, has = None, False, False
    for element in [*before, None]:
        if element is None or isinstance(element, pf.Header):
            if head is not None and had and not has:
                drop.add(id(head))
            head, had, has = element, False, False
        else:
            had, has = True, has or id(element) in kept
    return [element for element in content if id(element) not in drop]
