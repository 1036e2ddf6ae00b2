"""Knit Pandoc's elements: leave out metadata and RAG-only parts at any depth."""

from __future__ import annotations

from collections.abc import Sequence

import panflute as pf

from lmm_core.markdown.blocks import Attributes, Block, ErrorBlock, HeaderBlock
from lmm_core.markdown.rag_only import KnitRules, div_verdict, verdicts
from lmm_core.markdown.tree import blocks_to_tree, node_block

from ..pandoc.elements import metadata_of, text_or_heading
from .boxes import Boxes


def knit_elements(
    elements: Sequence[pf.Element], rules: KnitRules, header: HeaderBlock | None = None
) -> list[pf.Element]:
    """Return the elements of the notes; those that lose something inside are changed.

    header: what the document says of itself as a whole."""
    kept = _staying(elements, rules, header)
    stack, boxes = list(kept), Boxes()
    while stack:
        element = stack.pop()
        content = getattr(element, "content", None)
        if content is not None and any(isinstance(child, pf.Block) for child in content) and _removes(content, rules):
            boxes.lose(element, before := list(content))
            element.content = _staying(before, rules)
        stack.extend(_children(element))
    return boxes.close(kept)


def _staying(elements: Sequence[pf.Element], rules: KnitRules, header: HeaderBlock | None = None) -> list[pf.Element]:
    """Return the elements of a list that stay, without a look at what is inside them."""
    blocks: list[Block] = [header] if header is not None else []
    element_of: dict[int, pf.Element] = {}
    kept: set[int] = set()
    for element in elements:
        if _is_quartos(element):  # behind the document's last section, and no part of it
            kept.add(id(element))
            continue
        block: Block = metadata_of(element) or text_or_heading(element)
        blocks.append(block)
        element_of[id(block)] = element
    tree = blocks_to_tree(blocks)
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        stands = node_block(node)
        if stands is None or is_out or isinstance(stands, ErrorBlock):
            continue
        element = element_of[id(stands)]
        if not _is_left_out(element, rules):
            kept.add(id(element))
    return [element for element in elements if id(element) in kept]


def _is_quartos(element: pf.Element) -> bool:
    """Return True for a div in which Quarto keeps navigation and titles."""
    return isinstance(element, pf.Div) and element.identifier.startswith("quarto-") and "hidden" in element.classes


def _is_left_out(element: pf.Element, rules: KnitRules) -> bool:
    """Return True for a div that is RAG-only by its classes or attributes."""
    if not isinstance(element, pf.Div):
        return False
    attributes = Attributes(element.identifier, list(element.classes), dict(element.attributes))
    return bool(div_verdict(attributes, rules))


def _removes(content: Sequence[pf.Element], rules: KnitRules) -> bool:
    return any(metadata_of(child) is not None or _is_left_out(child, rules) for child in content)


def _children(element: pf.Element) -> list[pf.Element]:
    """Return the elements directly inside an element, in any of its slots."""
    found: list[pf.Element] = []
    for name in ("content", "head", "foot", "caption", "definitions", "term"):
        slot = getattr(element, name, None)
        if isinstance(slot, pf.Element):
            found.append(slot)
        elif slot is not None and not isinstance(slot, str):
            found.extend(child for child in slot if isinstance(child, pf.Element))
    return found
