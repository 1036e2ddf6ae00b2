"""Blocks as a tree, and trees as blocks, text and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...logging import LoggerBase
from ..blocks import Block, HeaderBlock, HeadingBlock, MetadataBlock, TextBlock, serialize_blocks
from ..files import load_markdown, save_markdown
from ..parse import parse_markdown_text
from .nodes import UNNAMED, HeaderNode, HeadingNode, MarkdownTree, TextNode, node_block
from .traversal import traverse


def blocks_to_tree(blocks: Sequence[Block], name: str = UNNAMED) -> MarkdownTree:
    """Return the tree of a block list, or None for the empty list.

    name: the title of a document that has neither a title in its header nor a heading; it is written nowhere."""
    if not blocks:
        return None
    root = HeaderNode(name=name)
    current: HeadingNode = root
    waiting: list[MetadataBlock] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            current.children.append(TextNode(waiting, current, block))
            waiting = []
        elif isinstance(block, HeadingBlock):
            current = _add_section(current, block, waiting)
            waiting = []
        elif isinstance(block, HeaderBlock):
            root.metadata.append(block)
        elif isinstance(block, MetadataBlock):
            waiting.append(block)
    if waiting:
        current.children.append(TextNode(waiting, current, None))
    return root


def _add_section(current: HeadingNode, block: HeadingBlock, metadata: list[MetadataBlock]) -> HeadingNode:
    parent = current
    while parent.level >= block.level and parent.parent is not None:
        parent = parent.parent
    node = HeadingNode(metadata, parent, block, block.level)
    parent.children.append(node)
    return node


def tree_to_blocks(tree: MarkdownTree) -> list[Block]:
    """Return the block list of a tree: the inverse of `blocks_to_tree`."""
    blocks: list[Block] = []
    for node in traverse(tree):
        blocks.extend(node.metadata)
        if (block := node_block(node)) is not None:
            blocks.append(block)
    return blocks


def load_tree(path: str | Path, logger: LoggerBase | None = None) -> MarkdownTree:
    """Return the tree of a file, None if it is empty or cannot be read, which is reported.

    A document with neither a title nor a heading is named after its file."""
    text = load_markdown(path, logger)
    return None if text is None else blocks_to_tree(parse_markdown_text(text), Path(path).stem or UNNAMED)


def serialize_tree(tree: MarkdownTree) -> str:
    """Return the text of a tree."""
    return serialize_blocks(tree_to_blocks(tree))


def save_tree(tree: MarkdownTree, path: str | Path, logger: LoggerBase | None = None) -> bool:
    """Write a tree's text to a file. Return False if it cannot be written, which is reported."""
    return save_markdown(path, serialize_tree(tree), logger)
