"""Take out the boxes among Pandoc's elements of which nothing stays (see `lmm_core.scan.boxes`)."""

from __future__ import annotations

from collections.abc import Sequence

import panflute as pf

from lmm_core.markdown.blocks import Attributes
from lmm_core.scan.boxes import is_callout, is_tabset


class Boxes:
    """The elements that have lost something, each with what it held before."""

    def __init__(self) -> None:
        self.before: dict[int, list[pf.Element]] = {}
        self.elements: list[pf.Element] = []

    def lose(self, element: pf.Element, before: Sequence[pf.Element]) -> None:
        """Remember what an element held before. Parents have to come before their children."""
        if id(element) not in self.before:
            self.before[id(element)] = list(before)
            self.elements.append(element)

    def close(self, kept: list[pf.Element]) -> list[pf.Element]:
        """Take out the boxes that hold nothing any more.

        kept: the elements at the top. Return those of them that stay."""
        gone: set[int] = set()
        for element in reversed(list(self.elements)):
            box = element
            while self._is_emptied(box):
                gone.add(id(box))
                parent = box.parent
                if parent is None or isinstance(parent, pf.Doc):
                    break
                self.lose(parent, parent.content)
                parent.content = [one for one in parent.content if id(one) not in gone]
                box = parent
        return [element for element in kept if id(element) not in gone]

    def _is_emptied(self, element: pf.Element) -> bool:
        """Return True if an element is a box without content. A callout may have its title left."""
        if not isinstance(element, pf.Div | pf.BlockQuote):
            return False
        attributes = _attributes(element)
        if is_tabset(attributes):
            _drop_tabs(element, self.before[id(element)])
        rest = list(element.content)
        return not rest or (is_callout(attributes) and all(isinstance(one, pf.Header) for one in rest))


def _attributes(element: pf.Element) -> Attributes:
    return Attributes("", list(getattr(element, "classes", ())), {})


def _drop_tabs(tabset: pf.Div, before: Sequence[pf.Element]) -> None:
    """Take out the headings of the tabs that have lost all they held."""
    kept = {id(element) for element in tabset.content}
    drop: set[int] = set()
    head, had, has = None, False, False
    for element in [*before, None]:
        if element is None or isinstance(element, pf.Header):
            if head is not None and had and not has:
                drop.add(id(head))
            head, had, has = element, False, False
        else:
            had, has = True, has or id(element) in kept
    tabset.content = [element for element in tabset.content if id(element) not in drop]
