"""Group texts that a chunk may join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...markdown.blocks import (
    BOM,
    Attributes,
    Block,
    ErrorBlock,
    HeaderBlock,
    MetadataBlock,
    TextBlock,
    blank,
    parse_attributes,
    source_line,
)
from ...markdown.divs import find_parts
from ...markdown.regions import DIV_OPEN, Regions
from ...markdown.visibility import KnitRules, type_of_div
from ...scan.rag_parts import Excerpt


@dataclass(slots=True)
class TextRun:
    """Consecutive texts of one section that may be joined.

    metadata: blocks that annotate the text. With metadata, or if `alone`, a run has a single text."""

    texts: list[TextBlock]
    metadata: list[MetadataBlock] = field(default_factory=list)
    alone: bool = False


def find_runs(blocks: Sequence[Block], rules: KnitRules) -> Iterator[Block | TextRun]:
    """Yield the blocks in order, with texts grouped to runs.

    A text with its own metadata, a RAG-only div and an excerpt are separate runs."""
    run: TextRun | None = None
    metadata: list[MetadataBlock] = []
    for block in blocks:
        text = _text(block)
        if text and run and _continues(run, text, rules):
            run.texts.append(text)
            continue
        if run:
            yield run
        run = TextRun([text], metadata, bool(metadata) or _is_alone(text, rules)) if text else None
        if not text:
            yield block
        is_own = isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock)
        metadata = [*metadata, block] if is_own and isinstance(block, MetadataBlock) else []
    if run:
        yield run


def _text(block: Block) -> TextBlock | None:
    """Return the block if it is a non-empty text, else None."""
    is_text = isinstance(block, TextBlock) and not isinstance(block, ErrorBlock)
    return block if is_text and isinstance(block, TextBlock) and not blank(block.content) else None


def _continues(run: TextRun, block: TextBlock, rules: KnitRules) -> bool:
    """Return True if a text may join the run before it."""
    last = run.texts[-1]
    follows = source_line(last) + last.source.count("\n") == block.line
    return follows and not run.alone and not _is_alone(block, rules)


def _is_alone(block: TextBlock, rules: KnitRules) -> bool:
    return isinstance(block, Excerpt) or div_type(block, rules) is not None


def div_type(block: TextBlock, rules: KnitRules) -> str | None:
    """Return the type of a RAG-only div that fills a text block, or None."""
    if isinstance(block, Excerpt):
        return block.type
    if not block.source.lstrip(BOM + " \t\r\n").startswith((":", "<")):
        return None  # quick answer for most texts
    attributes = _first_attributes(block.content)
    type = type_of_div(attributes, rules)
    return type if type and _is_one_div(block.content) else None


def _first_attributes(text: str) -> Attributes:
    if opened := DIV_OPEN.match(text):
        return parse_attributes(opened["attributes"])
    parts = find_parts(text) if text.startswith(("<div", "<section")) else []
    return parts[0].attributes if parts and parts[0].start == 0 else Attributes()


def _is_one_div(text: str) -> bool:
    """Return True if the first div ends with the text."""
    regions = Regions(text)
    return (regions.div_end(0) if text.startswith(":::") else regions.end(0)) == len(text)
