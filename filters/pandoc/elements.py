"""Pandoc's elements as blocks, and back: for documents without a source text.

Divs of class `lmm`, comments (and raw blocks of format `lmm`, which an earlier filter
of ours leaves) are the metadata, headers the sections, everything else text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import panflute as pf

from lmm_core.markdown.blocks import Block, HeadingBlock, MetadataBlock, TextBlock

from .json_tree import RAW, find_elements, metadata_element, metadata_of
from .runs.run import run_pandoc

_MARK = "<!--lmm-element-->"


def load(ast: dict[str, Any]) -> pf.Doc:
    """Return Pandoc's JSON as panflute's elements."""
    # panflute refuses raw parts of formats that it does not know (typst, ours).
    formats = {element["c"][0] for element in find_elements(ast, "RawBlock", "RawInline")}
    pf.elements.RAW_FORMATS.update({RAW, *formats})
    return pf.load(io.StringIO(json.dumps(ast)))


def to_markdown(doc: pf.Doc, executable: str, *options: str) -> str:
    """Return the markdown that pandoc writes for a document. Raise FilterError if pandoc fails."""
    arguments = ["-f", "json", "-t", "markdown", "--wrap=preserve", "--markdown-headings=atx", *options]
    return run_pandoc(executable, arguments, json.dumps(doc.to_json()), Path.cwd())


def markdown_of_each(doc: pf.Doc, executable: str) -> list[str] | None:
    """Return the markdown of each top-level element, or None if it cannot be told apart.

    The document that it is given is not to be used any more."""
    count, marked = len(doc.content), []
    for element in doc.content:
        marked += [pf.RawBlock(_MARK, format="markdown"), element]
    written = to_markdown(pf.Doc(*marked, api_version=doc.api_version), executable)
    texts = [part.strip("\n") for part in written.split(f"{_MARK}\n")[1:]]
    return texts if len(texts) == count else None


def _block_of(element: pf.Element, text: str) -> Block:
    """Return the block that stands for an element. text: its markdown, or "" if that is not known."""
    if isinstance(element, pf.Div | pf.RawBlock) and (found := metadata_of(element.to_json())) is not None:
        return found
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
            block = _block_of(element, texts[at] if texts else "")
            found.blocks.append(block)
            found.of_block[id(block)] = element
        return found

    def write(self, blocks: Sequence[Block]) -> list[Any]:
        """Return Pandoc's JSON for a changed list of the blocks."""
        written = []
        for block in blocks:
            element = self.of_block.get(id(block))
            if element is not None:
                written.append(element.to_json())
            elif isinstance(block, MetadataBlock):
                written.append(metadata_element(block))
        return written
