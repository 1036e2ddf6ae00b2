"""Documents as trees of sections and texts.

A tree is a view on the blocks: its nodes hold the very blocks of the list, so that a change
to a node's metadata stands in the list that `tree_to_blocks` returns.
"""

from .conversion import blocks_to_tree, load_tree, save_tree, serialize_tree, tree_to_blocks
from .maps import map_blocks
from .nodes import HeaderNode, HeadingNode, MarkdownTree, Node, TextNode, node_block
from .traversal import fold, fold_post, sections, titles_path, traverse, traverse_post

__all__ = [
    "HeaderNode", "HeadingNode", "MarkdownTree", "Node", "TextNode", "blocks_to_tree", "fold", "fold_post",
    "load_tree", "map_blocks", "node_block", "save_tree", "sections", "serialize_tree", "titles_path", "traverse",
    "traverse_post", "tree_to_blocks",
]  # fmt: skip
