"""Pandoc's elements as blocks, and back: the way without a source text.

Divs of class `lmm` (and raw blocks of format `lmm`, which an earlier filter of
ours leaves) are the metadata, headers the sections, everything else text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import panflute as pf

from lmm_core.markdown.blocks import Attributes, Block, ErrorBlock, HeaderBlock, HeadingBlock, MetadataBlock, TextBlock
from lmm_core.markdown.metadata.body import parse_metadata
from lmm_core.markdown.metadata.lists import not_a_mapping
from lmm_core.markdown.rag_only import KnitRules, div_verdict, node_block, verdicts
from lmm_core.markdown.spelling import make_block
from lmm_core.markdown.tree import blocks_to_tree

from ..knit.boxes import Boxes

RAW = "lmm"
_YAML = ("yaml", "yml")


def load(ast: dict[str, Any]) -> pf.Doc:
    """Pandoc's JSON as panflute's elements."""
    # panflute refuses raw parts of formats that it does not know (typst, ours).
    pf.elements.RAW_FORMATS.update({RAW, *_raw_formats(ast)})
    return pf.load(io.StringIO(json.dumps(ast)))


def dump(doc: pf.Doc) -> dict[str, Any]:
    """Panflute's elements as Pandoc's JSON."""
    target = io.StringIO()
    pf.dump(doc, target)
    ast: dict[str, Any] = json.loads(target.getvalue())
    return ast


def _raw_formats(ast: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    stack: list[Any] = [ast]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.get("t") in ("RawBlock", "RawInline"):
                found.add(node["c"][0])
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return found


def metadata_of(element: pf.Element) -> MetadataBlock | ErrorBlock | None:
    """The metadata block that an element is; an error block where it should be one
    and cannot be read."""
    if isinstance(element, pf.RawBlock) and element.format == RAW:
        return make_block(element.text, "div")
    if not (isinstance(element, pf.Div) and "lmm" in element.classes):
        return None
    inside = list(element.content)
    if len(inside) == 1 and isinstance(inside[0], pf.CodeBlock) and set(_YAML) & set(inside[0].classes):
        body = inside[0].text + "\n"
        parsed = parse_metadata(body)
        if parsed.content is not None:
            return make_block(body, "div")
        return ErrorBlock("", 0, parsed.error or not_a_mapping(body), 0)
    return ErrorBlock("", 0, "a div of class lmm holds one code block of YAML and nothing else", 0)


def metadata_element(block: MetadataBlock, raw: bool = False) -> pf.Element:
    """A metadata block as a div, or as a raw block for the next filter of ours."""
    if raw:
        return pf.RawBlock(block.body, format=RAW)
    code = pf.CodeBlock(block.body.removesuffix("\n"), classes=["yaml"])
    return pf.Div(code, classes=["lmm", "content-hidden"])


@dataclass
class Elements:
    """The top-level elements of a document, and the block that stands for each."""

    doc: pf.Doc
    blocks: list[Block] = field(default_factory=list)
    of_block: dict[int, pf.Element] = field(default_factory=dict)

    @classmethod
    def read(cls, doc: pf.Doc, texts: Sequence[str] | None = None) -> Elements:
        """Blocks for the elements of a document. `texts`: the markdown of each
        element; where it is not given, text blocks hold no text."""
        found = cls(doc)
        for at, element in enumerate(doc.content):
            block = metadata_of(element) or _block(element, texts[at] if texts else "")
            found.blocks.append(block)
            found.of_block[id(block)] = element
        return found

    def write(self, blocks: Sequence[Block], raw: bool) -> None:
        """Put a changed list of blocks into the document."""
        content = []
        for block in blocks:
            element = self.of_block.get(id(block))
            if isinstance(block, MetadataBlock) and (element is None or raw):
                element = metadata_element(block, raw)
            if element is not None:
                content.append(element)
        self.doc.content = content


def _block(element: pf.Element, text: str) -> Block:
    if isinstance(element, pf.Header):
        source = text.strip() or f"{'#' * element.level} {pf.stringify(element)}"
        return HeadingBlock(source + "\n\n", 0, element.level)
    return TextBlock(text.strip("\n") + "\n\n", 0)


def split_markdown(markdown: str, mark: str) -> list[str]:
    """The texts between the lines `mark`, the one before the first left out."""
    return [part.strip("\n") for part in markdown.split(f"{mark}\n")[1:]]


def mark_elements(doc: pf.Doc, mark: str) -> pf.Doc:
    """A document in which a line `mark` stands before each top-level element."""
    marked = []
    for element in doc.content:
        marked += [pf.RawBlock(mark, format="markdown"), element]
    return pf.Doc(*marked, api_version=doc.api_version)


# Knitting


def knit_elements(
    elements: Sequence[pf.Element], rules: KnitRules, header: HeaderBlock | None = None
) -> list[pf.Element]:
    """The elements of the notes: without metadata and RAG-only parts, at any depth.
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
    """Of a list of blocks those that stay, whatever is inside them."""
    blocks: list[Block] = [header] if header is not None else []
    element_of: dict[int, pf.Element] = {}
    kept: set[int] = set()
    for element in elements:
        if _is_quartos(element):  # behind the document's last section, and no part of it
            kept.add(id(element))
            continue
        block: Block = metadata_of(element) or _block(element, "")
        blocks.append(block)
        element_of[id(block)] = element
    tree = blocks_to_tree(blocks)
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        stands = node_block(node)
        if stands is None or is_out or isinstance(stands, ErrorBlock):
            continue
        element = element_of[id(stands)]
        if not (isinstance(element, pf.Div) and div_verdict(_attributes(element), rules)):
            kept.add(id(element))
    return [element for element in elements if id(element) in kept]


def _is_quartos(element: pf.Element) -> bool:
    """Whether an element is what Quarto keeps navigation and titles in."""
    return isinstance(element, pf.Div) and element.identifier.startswith("quarto-") and "hidden" in element.classes


def _attributes(element: pf.Div) -> Attributes:
    return Attributes(element.identifier, list(element.classes), dict(element.attributes))


def _removes(content: Sequence[pf.Element], rules: KnitRules) -> bool:
    return any(
        metadata_of(child) is not None or (isinstance(child, pf.Div) and div_verdict(_attributes(child), rules))
        for child in content
    )


def _children(element: pf.Element) -> list[pf.Element]:
    """Elements directly inside, of any slot."""
    found: list[pf.Element] = []
    for name in ("content", "head", "foot", "caption", "definitions", "term"):
        slot = getattr(element, name, None)
        if isinstance(slot, pf.Element):
            found.append(slot)
        elif slot is not None and not isinstance(slot, str):
            found.extend(child for child in slot if isinstance(child, pf.Element))
    return found


def strip_metadata(ast: dict[str, Any]) -> dict[str, Any]:
    """Pandoc's JSON without metadata divs and our raw blocks, at any depth."""
    doc = load(ast)

    def drop(element: pf.Element, _doc: pf.Doc) -> list[pf.Element] | None:
        return [] if metadata_of(element) is not None else None

    return dump(doc.walk(drop))


def mark_metadata(ast: dict[str, Any]) -> dict[str, Any]:
    """Pandoc's JSON with top-level metadata divs as raw blocks for a later filter."""
    doc = load(ast)
    content = []
    for element in doc.content:
        block = metadata_of(element)
        content.append(metadata_element(block, raw=True) if isinstance(block, MetadataBlock) else element)
    doc.content = content
    return dump(doc)
