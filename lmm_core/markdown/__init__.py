"""Markdown with metadata blocks: parser, serializer, document tree, visibility rules, files.

Imports only the standard library, PyYAML, `errors`, `logging` and `files`.
"""

from ..errors import MarkdownError
from .blocks import (
    Block,
    ErrorBlock,
    FrontMatterBlock,
    HeaderBlock,
    HeadingBlock,
    Message,
    MetadataBlock,
    Problem,
    Spelling,
    TextBlock,
    serialize_blocks,
)
from .files import (
    MarkdownFile,
    find_markdown,
    load_markdown,
    project_root,
    read_markdown,
    save_markdown,
    write_markdown,
)
from .metadata.body import DELETED
from .parse import parse_markdown_text
from .spelling import convert, edit_block, make_block, settle
from .tree import (
    HeaderNode,
    HeadingNode,
    MarkdownTree,
    Node,
    TextNode,
    blocks_to_tree,
    load_tree,
    save_tree,
    sections,
    serialize_tree,
    titles_path,
    traverse,
    traverse_post,
    tree_to_blocks,
)

__all__ = [
    "DELETED", "Block", "ErrorBlock", "FrontMatterBlock", "HeaderBlock", "HeaderNode", "HeadingBlock", "HeadingNode",
    "MarkdownError", "MarkdownFile", "MarkdownTree", "Message", "MetadataBlock", "Node", "Problem",
    "Spelling", "TextBlock", "TextNode", "blocks_to_tree", "convert", "edit_block", "find_markdown",
    "load_markdown", "load_tree", "make_block", "parse_markdown_text", "project_root", "read_markdown",
    "save_markdown", "save_tree", "sections", "serialize_blocks", "serialize_tree", "settle", "titles_path",
    "traverse", "traverse_post", "tree_to_blocks", "write_markdown",
]  # fmt: skip
