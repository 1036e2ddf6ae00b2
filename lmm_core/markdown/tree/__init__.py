"""Documents as trees of sections and texts.

A tree is a view on the blocks: its nodes hold the very blocks of the list. A node that is changed gets
other blocks, which stand in the list that `tree_to_blocks` returns; all others stay as they are.
"""

from .collection import collect_dictionaries, collect_headings, collect_table_of_contents, collect_text
from .conversion import blocks_to_tree, load_tree, save_tree, serialize_tree, tree_to_blocks
from .exchange import extract_content, inherit_metadata, propagate_content, propagate_property
from .maps import copy_tree, map_tree, prune_tree
from .nodes import HeaderNode, HeadingNode, MarkdownTree, Node, TextNode, node_block
from .traversal import fold, fold_post, sections, titles_path, traverse, traverse_post

__all__ = [
    "HeaderNode", "HeadingNode", "MarkdownTree", "Node", "TextNode", "blocks_to_tree", "collect_dictionaries",
    "collect_headings", "collect_table_of_contents", "collect_text", "copy_tree", "extract_content", "fold",
    "fold_post", "inherit_metadata", "load_tree", "map_tree", "node_block", "propagate_content", "propagate_property",
    "prune_tree", "save_tree", "sections", "serialize_tree", "titles_path", "traverse", "traverse_post",
    "tree_to_blocks",
]  # fmt: skip
