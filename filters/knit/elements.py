"""Knitting of Pandoc's elements, at any depth."""

from __future__ import annotations

from collections.abc import Sequence

import panflute as pf

from lmm_core.markdown.blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, TextBlock
from lmm_core.markdown.tree import blocks_to_tree, node_block
from lmm_core.markdown.visibility import KnitRules, div_properties, in_notes, verdicts
from lmm_core.scan.boxes import has_titles

from ..pandoc.elements import attributes_of, find_containers, is_metadata, metadata_of


class Knitting:
    """A run of knitting; `left_out` collects the removed elements."""

    def __init__(self, rules: KnitRules) -> None:
        self.rules = rules
        self.left_out: list[pf.Element] = []

    def knit(self, elements: Sequence[pf.Element], header: HeaderBlock | None = None) -> list[pf.Element]:
        """Return the elements of the notes, changing them in place. header: of the document."""
        return self._knit_each(self._staying(elements, header))

    def _knit_each(self, elements: Sequence[pf.Element]) -> list[pf.Element]:
        return [element for element in elements if not self._knit_inside(element)]

    def _knit_inside(self, element: pf.Element) -> bool:
        """Knit the content of an element; return True if it is a box that becomes empty."""
        is_left_empty = False
        for holder in find_containers(element):
            before = list(holder.content)
            loses = any(is_metadata(inside) or _is_left_out(inside, self.rules) for inside in before)
            staying = self._knit_each(self._staying(before) if loses else before)
            if len(staying) < len(before):
                holder.content = staying
                is_left_empty = _is_emptied(element)
        self.left_out += [element] if is_left_empty else []
        return is_left_empty

    def _staying(self, elements: Sequence[pf.Element], header: HeaderBlock | None = None) -> list[pf.Element]:
        blocks: list[Block] = [header] if header is not None else []
        element_of: dict[int, pf.Element] = {}
        staying: set[int] = set()
        for element in elements:
            if _is_quartos(element):  # outside of the document's last section
                staying.add(id(element))
                continue
            blocks.append(_block_of(element))
            element_of[id(blocks[-1])] = element
        tree = blocks_to_tree(blocks)
        for node, is_out in verdicts(tree, self.rules) if tree is not None else ():
            block = node_block(node)
            if block is None or is_out or isinstance(block, ErrorBlock):
                continue
            element = element_of[id(block)]
            if not _is_left_out(element, self.rules):
                staying.add(id(element))
        self.left_out += [element for element in elements if id(element) not in staying]
        return [element for element in elements if id(element) in staying]


def _block_of(element: pf.Element) -> Block:
    if (metadata := metadata_of(element)) is not None:
        return metadata
    return HeadingBlock("", 0, element.level) if isinstance(element, pf.Header) else TextBlock("\n")


def _is_quartos(element: pf.Element) -> bool:
    """Return True for a div with Quarto's navigation and titles."""
    return isinstance(element, pf.Div) and element.identifier.startswith("quarto-") and "hidden" in element.classes


def _is_emptied(element: pf.Element) -> bool:
    if not isinstance(element, pf.Div | pf.BlockQuote):
        return False
    is_titled = has_titles(attributes_of(element))
    return all(is_titled and isinstance(inside, pf.Header) for inside in element.content)


def _is_left_out(element: pf.Element, rules: KnitRules) -> bool:
    return isinstance(element, pf.Div) and in_notes(div_properties(attributes_of(element), rules), rules) is False
