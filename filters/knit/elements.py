"""Knit Pandoc's elements: leave out metadata and RAG-only parts at any depth."""

from __future__ import annotations

from collections.abc import Sequence

from lmm_core.markdown.blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, TextBlock
from lmm_core.markdown.divs import Part
from lmm_core.markdown.tree import blocks_to_tree, node_block
from lmm_core.markdown.visibility import KnitRules, leaves_out, verdicts

from ..pandoc.json_tree import Json, attributes_of, find_block_lists, is_metadata, metadata_of
from .boxes import is_emptied


def knit_elements(elements: Sequence[Json], rules: KnitRules, header: HeaderBlock | None = None) -> list[Json]:
    """Return the elements of the notes; those that lose something inside are changed.

    header: what the document says of itself as a whole."""
    return _knit_each(_staying(elements, rules, header), rules)


def _knit_each(elements: Sequence[Json], rules: KnitRules) -> list[Json]:
    """Leave out what goes inside of elements. Return them without the boxes of which nothing stays."""
    return [element for element in elements if not _knit_inside(element, rules)]


def _knit_inside(element: Json, rules: KnitRules) -> bool:
    """Leave out what goes inside an element. Return True if it is a box of which nothing stays."""
    is_left_empty = False
    for blocks in find_block_lists(element):
        before = list(blocks)
        blocks[:] = _knit_each(_staying(before, rules) if _loses(before, rules) else before, rules)
        is_left_empty = len(blocks) < len(before) and is_emptied(element, before)
    return is_left_empty


def _loses(elements: Sequence[Json], rules: KnitRules) -> bool:
    return any(is_metadata(element) or _is_left_out(element, rules) for element in elements)


def _staying(elements: Sequence[Json], rules: KnitRules, header: HeaderBlock | None = None) -> list[Json]:
    """Return the elements of a list that stay, without a look at what is inside them."""
    blocks: list[Block] = [header] if header is not None else []
    element_of: dict[int, Json] = {}
    kept: set[int] = set()
    for element in elements:
        if _is_quartos(element):  # behind the document's last section, and no part of it
            kept.add(id(element))
            continue
        blocks.append(_block_of(element))
        element_of[id(blocks[-1])] = element
    tree = blocks_to_tree(blocks)
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        stands = node_block(node)
        if stands is None or is_out or isinstance(stands, ErrorBlock):
            continue
        element = element_of[id(stands)]
        if not _is_left_out(element, rules):
            kept.add(id(element))
    return [element for element in elements if id(element) in kept]


def _block_of(element: Json) -> Block:
    """Return the block that stands for an element; of a text only the place matters."""
    if (metadata := metadata_of(element)) is not None:
        return metadata
    return HeadingBlock("", 0, element["c"][0]) if element["t"] == "Header" else TextBlock("\n")


def _is_quartos(element: Json) -> bool:
    """Return True for a div in which Quarto keeps navigation and titles."""
    attributes = attributes_of(element)
    return element["t"] == "Div" and attributes.identifier.startswith("quarto-") and "hidden" in attributes.classes


def _is_left_out(element: Json, rules: KnitRules) -> bool:
    """Return True for a div that is RAG-only by its classes or attributes."""
    return element["t"] == "Div" and bool(leaves_out(rules)(Part(0, 0, attributes_of(element))))
