"""Trees made of trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..blocks import MetadataBlock
from .conversion import blocks_to_tree, tree_to_blocks
from .nodes import MarkdownTree, Node
from .traversal import traverse


def map_blocks(tree: MarkdownTree, change: Callable[[Node], Sequence[MetadataBlock]]) -> MarkdownTree:
    """Return a copy of a tree in which `change` gives each node's metadata."""
    copy = blocks_to_tree(tree_to_blocks(tree))
    for node, twin in zip(traverse(tree), traverse(copy), strict=True):
        twin.metadata = list(change(node))
    return copy
