"""The pieces of a document, in the notes or left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..markdown.blocks import (
    Block,
    ErrorBlock,
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    count_lead,
    source_line,
    split_heading,
)
from ..markdown.divs import find_parts, has_marks, without
from ..markdown.edits import read_edit, restore_originals
from ..markdown.metadata.keys import MESSAGE_KEYS, NO_PROSE
from ..markdown.tree import blocks_to_tree, node_block
from ..markdown.visibility import KnitRules, close_parts, parts_and_cuts, verdicts
from .knit import slug, without_orphaned_notes


class SourcePiece(NamedTuple):
    """A piece of a document; `line` counts from 1."""

    line: int
    text: str
    is_out: bool
    is_metadata: bool = False
    is_heading: bool = False

    @property
    def slug(self) -> str:
        """Return a heading's identifier, else ""."""
        if not self.is_heading:
            return ""
        title, attributes = split_heading(self.text)
        return attributes.identifier or slug(title)


def find_pieces(blocks: Sequence[Block], rules: KnitRules) -> Iterator[SourcePiece]:
    """Yield the pieces in order, preceded by metadata values."""
    for block in blocks:
        if read_edit(block) is not None:
            # the new text, since the notes show the old one
            yield SourcePiece(block.line, block.source, is_out=True, is_metadata=True)
        elif isinstance(block, MetadataBlock):
            yield from (SourcePiece(block.line, text, is_out=True, is_metadata=True) for text in _values(block))
    tree = blocks_to_tree(close_parts(restore_originals(blocks).blocks, rules))
    for node, is_out in verdicts(tree, rules) if tree is not None else ():
        text = node_block(node)
        if isinstance(text, ErrorBlock):
            yield SourcePiece(text.line, text.source, is_out=True)
        elif isinstance(text, HeadingBlock):
            yield SourcePiece(text.line, text.source, is_out, is_heading=True)
        elif isinstance(text, TextBlock):
            is_plain = not has_marks(text.source)
            yield from [SourcePiece(text.line, text.source, is_out)] if is_plain else _in_text(text, rules, is_out)


def without_hidden_notes(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """Return blocks without the footnotes that only RAG-only parts refer to."""
    if not any("[^" in block.source for block in blocks):
        return [*blocks]
    parts = [part for part in find_pieces(blocks, rules) if not part.is_metadata]
    texts = ("".join(part.text for part in parts if part.is_out == is_out) for is_out in (True, False))
    return without_orphaned_notes(blocks, *texts)


def _in_text(block: TextBlock, rules: KnitRules, is_out: bool) -> Iterator[SourcePiece]:
    source, first = block.source, source_line(block)
    parts = find_parts(source)
    metadata = [(part.start, part.end) for part in parts if part.metadata is not None]

    def piece(start: int, end: int, *, is_out: bool) -> SourcePiece:
        text = source[start:end]
        line = first + source.count("\n", 0, start) + count_lead(text)
        inside = [(max(begin, start) - start, min(stop, end) - start) for begin, stop in metadata]
        return SourcePiece(line, without(text, [cut for cut in inside if cut[0] < cut[1]]), is_out)

    at = 0
    cuts = [] if is_out else [(cut.start, cut.end) for cut in parts_and_cuts(source, rules)[1]]
    for start, end in [(0, len(source))] if is_out else cuts:
        if start > at:
            yield piece(at, start, is_out=False)
        yield piece(start, end, is_out=True)
        at = end
    if at < len(source):
        yield piece(at, len(source), is_out=False)
    for part in parts:
        line = first + source.count("\n", 0, part.start)
        for text in _prose(part.metadata or {}):
            yield SourcePiece(line, text, is_out=True, is_metadata=True)


def _values(block: MetadataBlock) -> Iterator[str]:
    keys = [key for key in block.content if key not in MESSAGE_KEYS]
    if isinstance(block, HeaderBlock):
        keys = [key for key in keys if str(key).startswith("~")]
    yield from _prose({key: block.content[key] for key in keys})
    yield from (message.text for message in block.messages)


def _prose(metadata: dict[str, object]) -> Iterator[str]:
    for key, value in metadata.items():
        name = str(key)
        if not name.startswith("~~") and name.strip("~=") not in NO_PROSE:
            yield from texts_in(value)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts nested in lists and mappings, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)
