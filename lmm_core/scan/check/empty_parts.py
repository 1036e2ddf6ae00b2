"""Metadata about nothing, and headings without a title."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...markdown.blocks import Block, HeadingBlock, MetadataBlock
from ...markdown.metadata.keys import ABOUT_TEXT
from ...markdown.tree import HeaderNode, HeadingNode, MarkdownTree, Node, TextNode, traverse
from .finding import Finding

NO_TEXT = "this metadata is about a section without text: write the text, or take the block out"
NO_TEXT_AT_END = "this metadata is about nothing, because no text follows: put it before the part that it is about"
NO_TITLE = "a heading without a title: write one after the {}, or take the line out"


def find_empty_parts(blocks: Sequence[Block], tree: MarkdownTree) -> Iterator[Finding]:
    """Yield the blocks about sections and places without text, and the headings without a title.

    A block that asks something is passed over: a writer may ask for a text that is not there yet."""
    for block in blocks:
        if isinstance(block, HeadingBlock) and not block.source.strip("\ufeff# \t\r\n"):
            yield Finding(block.line, "no-title", NO_TITLE.format("#" * block.level))
    for node in traverse(tree):
        if node.metadata and not isinstance(node, HeaderNode) and not _has_text(node) and _describes(node.metadata):
            message = NO_TEXT if isinstance(node, HeadingNode) else NO_TEXT_AT_END
            yield Finding(node.metadata[0].line, "empty-section", message)


def _has_text(node: Node) -> bool:
    return any(isinstance(one, TextNode) and one.block is not None for one in traverse(node))


def _describes(metadata: Sequence[MetadataBlock]) -> bool:
    keys = {key for block in metadata for key in block.content if not key.startswith("~~")}
    names = {key.lstrip("~").removesuffix("=") for key in keys}
    return not any(block.messages for block in metadata) and not names.isdisjoint(ABOUT_TEXT)
