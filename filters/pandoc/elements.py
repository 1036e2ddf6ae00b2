"""Read and write Pandoc's elements, and the metadata in them.

Metadata is a div of class `lmm`, a comment, or a raw block of format `lmm` left by an earlier filter.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import panflute as pf

from lmm_core.markdown.blocks import Attributes, Block, ErrorBlock, HeadingBlock, MetadataBlock, TextBlock, class_name
from lmm_core.markdown.metadata.body import parse_metadata
from lmm_core.markdown.metadata.lists import not_a_mapping
from lmm_core.markdown.parse import COMMENT_OPEN, NOT_ONE_BLOCK, parse_markdown_text
from lmm_core.markdown.spelling import make_block

from .run import run_pandoc

Json = dict[str, Any]
RAW = "lmm"  # format of raw blocks that pass metadata to the next filter
_RAW_FORMAT = re.compile(r'"t":"Raw(?:Block|Inline)","c":\["((?:[^"\\]|\\.)*)"')
_YAML = {"yaml", "yml"}
_MARK = "<!--lmm-element-->"


def load(text: str) -> pf.Doc:
    """Return panflute's elements for Pandoc's JSON."""
    # panflute rejects unknown raw formats (typst, ours)
    pf.elements.RAW_FORMATS.update({RAW, *(json.loads(f'"{name}"') for name in _RAW_FORMAT.findall(text))})
    return pf.load(io.StringIO(text))


def blocks_of(doc: pf.Doc) -> list[Json]:
    """Return a document's blocks as JSON."""
    return [element.to_json() for element in doc.content]


def attributes_of(element: pf.Element) -> Attributes:
    """Return an element's attributes, empty if it has none."""
    classes = [class_name(name) for name in getattr(element, "classes", ())]
    return Attributes(getattr(element, "identifier", ""), classes, dict(getattr(element, "attributes", {})))


def find_containers(element: pf.Element) -> Iterator[pf.Element]:
    """Yield the nearest elements (or the element itself) that contain blocks."""
    stack = [element]
    while stack:
        node = stack.pop()
        for name in node._children:
            child = getattr(node, name)
            if isinstance(child, pf.ListContainer) and child.oktypes is pf.Block and name == "content":
                yield node
            elif isinstance(child, pf.ListContainer):
                stack.extend(child)
            elif isinstance(child, pf.Element):
                stack.append(child)


def find_elements(element: pf.Element) -> Iterator[pf.Element]:
    """Yield an element and its descendants, parents first."""
    stack = [element]
    while stack:
        node = stack.pop()
        yield node
        for name in node._children:
            child = getattr(node, name)
            if isinstance(child, pf.ListContainer):
                stack.extend(child)
            elif isinstance(child, pf.Element) and not isinstance(child, pf.MetaMap):
                stack.append(child)


def metadata_of(element: pf.Element) -> MetadataBlock | ErrorBlock | None:
    """Return an element's metadata, an error block if it is malformed, or None for other elements."""
    if isinstance(element, pf.RawBlock):
        return make_block(element.text, "div") if element.format == RAW else _in_comment(element)
    if not is_metadata(element):
        return None
    inside = element.content
    if len(inside) == 1 and isinstance(inside[0], pf.CodeBlock) and not _YAML.isdisjoint(inside[0].classes):
        body = inside[0].text + "\n"
        parsed = parse_metadata(body)
        if parsed.content is not None:
            return make_block(body, "div")
        return ErrorBlock("", 0, parsed.error or not_a_mapping(body), 0)
    return ErrorBlock("", 0, NOT_ONE_BLOCK, 0)


def is_metadata(element: pf.Element) -> bool:
    """Return True if an element is metadata, without parsing it."""
    if isinstance(element, pf.RawBlock):
        return element.format == RAW or _in_comment(element) is not None
    return isinstance(element, pf.Div) and "lmm" in attributes_of(element).classes


def is_comment(element: pf.Element) -> bool:
    """Return True for a metadata comment."""
    return (
        isinstance(element, pf.RawBlock) and element.format == "html" and COMMENT_OPEN.match(element.text) is not None
    )


def _in_comment(raw: pf.RawBlock) -> MetadataBlock | ErrorBlock | None:
    if not is_comment(raw):
        return None
    block = parse_markdown_text(raw.text.rstrip() + "\n\n")[0]
    return replace(block, line=0) if isinstance(block, MetadataBlock | ErrorBlock) else None


def strip_metadata(holder: pf.Element) -> None:
    """Remove the metadata from an element, at any depth."""
    if any(map(is_metadata, holder.content)):
        holder.content = [element for element in holder.content if not is_metadata(element)]
    for element in holder.content:
        for inside in find_containers(element):
            strip_metadata(inside)


def mark_metadata(doc: pf.Doc) -> None:
    """Replace metadata by raw blocks for a later filter."""
    pf.elements.RAW_FORMATS.add(RAW)
    blocks = [(element, metadata_of(element)) for element in doc.content]
    doc.content = [
        pf.RawBlock(block.body, format=RAW) if isinstance(block, MetadataBlock) else element
        for element, block in blocks
    ]


def metadata_element(block: MetadataBlock) -> pf.Element:
    """Return the comment or div that pandoc would read for a metadata block."""
    if block.spelling == "comment":
        return pf.RawBlock(block.source.strip(), format="html")
    code = pf.CodeBlock(block.body.removesuffix("\n"), classes=["yaml"])
    return pf.Div(code, classes=["lmm", "content-hidden"])


def to_markdown(ast: Json, executable: str, *options: str) -> str:
    """Return pandoc's markdown for Pandoc's JSON. Raise FilterError."""
    arguments = ["-f", "json", "-t", "markdown", "--wrap=preserve", "--markdown-headings=atx", *options]
    return run_pandoc(executable, arguments, json.dumps(ast), Path.cwd())


def markdown_of_each(ast: Json, executable: str) -> list[str]:
    """Return the markdown of each top-level element, or empty texts if one contains the separating mark."""
    mark = {"t": "RawBlock", "c": ["markdown", _MARK]}
    marked = [block for element in ast["blocks"] for block in (mark, element)]
    text = to_markdown({**ast, "blocks": marked, "meta": {}}, executable)
    texts = [part.strip("\n") for part in text.split(f"{_MARK}\n")[1:]]
    return texts if len(texts) == len(ast["blocks"]) else [""] * len(ast["blocks"])


def _block_of(element: pf.Element, text: str) -> Block:
    if (metadata := metadata_of(element)) is not None:
        return metadata
    if isinstance(element, pf.Header):
        source = text.strip() or f"{'#' * element.level} {pf.stringify(element)}"
        return HeadingBlock(source + "\n\n", 0, element.level)
    return TextBlock(text.strip("\n") + "\n\n", 0)


@dataclass(frozen=True)
class Elements:
    """The top-level elements of a document, and their blocks. of_block: element by the `id` of its block"""

    doc: pf.Doc
    blocks: list[Block] = field(default_factory=list)
    of_block: dict[int, pf.Element] = field(default_factory=dict)

    @classmethod
    def read(cls, doc: pf.Doc, texts: Sequence[str]) -> Elements:
        """Return a document's elements with their blocks, from the markdown of each element."""
        elements = cls(doc)
        for element, text in zip(doc.content, texts, strict=True):
            block = _block_of(element, text)
            elements.blocks.append(block)
            elements.of_block[id(block)] = element
        return elements

    def write(self, blocks: Sequence[Block]) -> list[Json]:
        """Return Pandoc's JSON for blocks, some perhaps new, changed or missing."""
        pieces: list[Json] = []
        for block in blocks:
            element = self.of_block.get(id(block))
            if element is None and isinstance(block, MetadataBlock):
                element = metadata_element(block)
            pieces += [element.to_json()] if element is not None else []
        return pieces
