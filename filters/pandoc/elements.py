"""Pandoc's elements as blocks, and back: for documents without a source text.

Divs of class `lmm`, comments (and raw blocks of format `lmm`, which an earlier filter
of ours leaves) are the metadata, headers the sections, everything else text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import panflute as pf

from lmm_core.markdown.blocks import Block, ErrorBlock, HeadingBlock, MetadataBlock, TextBlock
from lmm_core.markdown.metadata.body import parse_metadata
from lmm_core.markdown.metadata.lists import not_a_mapping
from lmm_core.markdown.parse import COMMENT_OPEN, NOT_ONE_BLOCK, parse_markdown_text
from lmm_core.markdown.spelling import make_block

from .json_tree import find_elements
from .run import run_pandoc

RAW = "lmm"
_YAML = {"yaml", "yml"}
_MARK = "<!--lmm-element-->"


def load(ast: dict[str, Any]) -> pf.Doc:
    """Return Pandoc's JSON as panflute's elements."""
    # panflute refuses raw parts of formats that it does not know (typst, ours).
    formats = {element["c"][0] for element in find_elements(ast, "RawBlock", "RawInline")}
    pf.elements.RAW_FORMATS.update({RAW, *formats})
    return pf.load(io.StringIO(json.dumps(ast)))


def dump(doc: pf.Doc) -> dict[str, Any]:
    """Return panflute's elements as Pandoc's JSON."""
    target = io.StringIO()
    pf.dump(doc, target)
    ast: dict[str, Any] = json.loads(target.getvalue())
    return ast


class PartlyLoaded:
    """A document of which panflute loads only some of the elements at the top, because loading takes long.

    elements: those, and in place of each of the others one that holds nothing."""

    def __init__(self, ast: dict[str, Any], wanted: Sequence[bool]) -> None:
        self._doc = load({**ast, "blocks": [*compress(ast["blocks"], wanted)]})
        loaded = iter(self._doc.content)
        self.elements = [next(loaded) if is_wanted else pf.HorizontalRule() for is_wanted in wanted]
        self._blocks = {
            id(element): block
            for element, block, is_wanted in zip(self.elements, ast["blocks"], wanted, strict=True)
            if not is_wanted
        }

    def write(self, elements: Sequence[pf.Element]) -> list[Any]:
        """Return Pandoc's JSON of those of the elements that stay."""
        self._doc.content = [element for element in elements if id(element) not in self._blocks]
        written = iter(dump(self._doc)["blocks"])
        return [self._blocks[id(element)] if id(element) in self._blocks else next(written) for element in elements]


def to_markdown(doc: pf.Doc, executable: str, *options: str) -> str:
    """Return the markdown that pandoc writes for a document. Raise FilterError if pandoc fails."""
    arguments = ["-f", "json", "-t", "markdown", "--wrap=preserve", "--markdown-headings=atx", *options]
    return run_pandoc(executable, arguments, json.dumps(dump(doc)), Path.cwd())


def markdown_of_each(doc: pf.Doc, executable: str) -> list[str] | None:
    """Return the markdown of each top-level element, or None if it cannot be told apart.

    The document that it is given is not to be used any more."""
    count, marked = len(doc.content), []
    for element in doc.content:
        marked += [pf.RawBlock(_MARK, format="markdown"), element]
    written = to_markdown(pf.Doc(*marked, api_version=doc.api_version), executable)
    texts = [part.strip("\n") for part in written.split(f"{_MARK}\n")[1:]]
    return texts if len(texts) == count else None


def metadata_of(element: pf.Element) -> MetadataBlock | ErrorBlock | None:
    """Return the metadata block held in an element, or None.

    An error block is a div of class `lmm`, or a comment, that holds no YAML mapping."""
    if isinstance(element, pf.RawBlock):
        return make_block(element.text, "div") if element.format == RAW else _in_comment(element)
    if not (isinstance(element, pf.Div) and "lmm" in element.classes):
        return None
    inside = list(element.content)
    if len(inside) == 1 and isinstance(inside[0], pf.CodeBlock) and not _YAML.isdisjoint(inside[0].classes):
        body = inside[0].text + "\n"
        parsed = parse_metadata(body)
        if parsed.content is not None:
            return make_block(body, "div")
        return ErrorBlock("", 0, parsed.error or not_a_mapping(body), 0)
    return ErrorBlock("", 0, NOT_ONE_BLOCK, 0)


def _in_comment(element: pf.RawBlock) -> MetadataBlock | ErrorBlock | None:
    if element.format != "html" or not COMMENT_OPEN.match(element.text):
        return None
    block = parse_markdown_text(element.text.rstrip() + "\n\n")[0]
    return replace(block, line=0) if isinstance(block, MetadataBlock | ErrorBlock) else None


def metadata_element(block: MetadataBlock, raw: bool = False) -> pf.Element:
    """Return a metadata block as a div or a comment, or as a raw block for the next filter of ours."""
    if raw:
        return pf.RawBlock(block.body, format=RAW)
    if block.spelling == "comment":
        return pf.RawBlock(block.source.strip(), format="html")
    code = pf.CodeBlock(block.body.removesuffix("\n"), classes=["yaml"])
    return pf.Div(code, classes=["lmm", "content-hidden"])


def text_or_heading(element: pf.Element, text: str = "") -> Block:
    """Return the block that stands for an element that is not metadata.

    text: its markdown, or nothing if it does not matter."""
    if isinstance(element, pf.Header):
        source = text.strip() or f"{'#' * element.level} {pf.stringify(element)}"
        return HeadingBlock(source + "\n\n", 0, element.level)
    return TextBlock(text.strip("\n") + "\n\n", 0)


@dataclass(frozen=True)
class Elements:
    """The top-level elements of a document, and the block that stands for each (by its `id`)."""

    doc: pf.Doc
    blocks: list[Block] = field(default_factory=list)
    of_block: dict[int, pf.Element] = field(default_factory=dict)

    @classmethod
    def read(cls, doc: pf.Doc, texts: Sequence[str] | None = None) -> Elements:
        """Return the blocks for the elements of a document.

        texts: the markdown of each element; without it, text blocks hold no text."""
        found = cls(doc)
        for at, element in enumerate(doc.content):
            block = metadata_of(element) or text_or_heading(element, texts[at] if texts else "")
            found.blocks.append(block)
            found.of_block[id(block)] = element
        return found

    def write(self, blocks: Sequence[Block], raw: bool) -> list[Any]:
        """Return Pandoc's JSON for a changed list of the blocks.

        raw: metadata goes out as raw blocks for the next filter of ours."""
        content = []
        for block in blocks:
            element = self.of_block.get(id(block))
            if isinstance(block, MetadataBlock) and (element is None or raw):
                element = metadata_element(block, raw)
            if element is not None:
                content.append(element)
        self.doc.content = content
        written: list[Any] = dump(self.doc)["blocks"]
        return written


def strip_metadata(ast: dict[str, Any]) -> dict[str, Any]:
    """Return Pandoc's JSON without metadata divs and comments and our raw blocks, at any depth."""
    doc = load(ast)

    def drop(element: pf.Element, _doc: pf.Doc) -> list[pf.Element] | None:
        return [] if metadata_of(element) is not None else None

    return dump(doc.walk(drop))


def mark_metadata(ast: dict[str, Any]) -> dict[str, Any]:
    """Return Pandoc's JSON with top-level metadata divs and comments as raw blocks, for a later filter of ours."""
    doc = load(ast)
    content = []
    for element in doc.content:
        block = metadata_of(element)
        content.append(metadata_element(block, raw=True) if isinstance(block, MetadataBlock) else element)
    doc.content = content
    return dump(doc)
