"""Documents as trees of sections and texts, which share the blocks of the list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..logging import LoggerBase
from .blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, MetadataBlock, TextBlock, serialize_blocks
from .files import load_markdown, save_markdown
from .metadata.keys import find_key
from .parse import parse_markdown_text
from .spelling import settle_safely

UNNAMED = "Title"
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Node:
    """A heading or text; `metadata` has the nearest block last."""

    metadata: list[MetadataBlock] = field(default_factory=list)
    parent: HeadingNode | None = None

    @property
    def blocks(self) -> list[Block]:
        """Return the annotating blocks, and the heading or text."""
        block = node_block(self)
        return [*self.metadata] if block is None else [*self.metadata, block]

    @property
    def properties(self) -> dict[str, Any]:
        """Return the merged metadata; the nearest block takes precedence."""
        if len(self.metadata) == 1:
            return self.metadata[0].content
        return {key: value for block in self.metadata for key, value in block.content.items()}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the first of `key=`, `key` and `~key` in the node's metadata."""
        if not self.metadata:  # fast path
            return default
        properties = self.properties
        actual_key = find_key(properties, key)
        return default if actual_key is None else properties[actual_key]

    def fetch(self, key: str, default: Any = None) -> Any:
        """Return a key's value from this node or the nearest enclosing section."""
        node: Node | None = self
        while node is not None:
            if node.metadata and (actual_key := find_key(properties := node.properties, key)) is not None:
                return properties[actual_key]
            node = node.parent
        return default

    @property
    def ancestors(self) -> list[HeadingNode]:
        """Return the enclosing sections, the document first."""
        sections: list[HeadingNode] = []
        node = self.parent
        while node is not None:
            sections.append(node)
            node = node.parent
        return sections[::-1]

    @property
    def content(self) -> str:
        """Return the text, or a section's title."""
        raise NotImplementedError

    @property
    def line(self) -> int:
        """Return the line, from 1."""
        raise NotImplementedError


@dataclass(slots=True, eq=False)
class TextNode(Node):
    """A text block, or metadata at the end (`block` is None)."""

    block: TextBlock | None = None

    @property
    def content(self) -> str:
        """Return the text, or "" for an error block."""
        return self.block.content if self.block is not None and not isinstance(self.block, ErrorBlock) else ""

    @property
    def line(self) -> int:
        """Return the line, from 1."""
        return self.block.line if self.block is not None else 1


@dataclass(slots=True, eq=False)
class HeadingNode(Node):
    """A section: a heading and its content."""

    heading: HeadingBlock | None = None
    level: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the title."""
        return self.written_title

    @property
    def written_title(self) -> str:
        """Return the document's title for it, or ""."""
        return self.heading.title if self.heading is not None else ""

    @property
    def content(self) -> str:
        """Return the title."""
        return self.title

    @property
    def line(self) -> int:
        """Return the line of the heading or header, from 1."""
        if self.heading is not None:
            return self.heading.line
        return max(1, self.metadata[0].line) if self.metadata else 1

    @property
    def sections(self) -> list[HeadingNode]:
        """Return the child sections."""
        return [child for child in self.children if isinstance(child, HeadingNode)]

    @property
    def texts(self) -> list[TextNode]:
        """Return the child texts."""
        return [child for child in self.children if isinstance(child, TextNode)]


@dataclass(slots=True, eq=False)
class HeaderNode(HeadingNode):
    """The document; its metadata is the header, `name` its default title."""

    name: str = UNNAMED

    @property
    def title(self) -> str:
        """Return the written title or the document's name."""
        return self.written_title or self.name

    @property
    def written_title(self) -> str:
        """Return the title of the header, else of the first heading, else ""."""
        own = self.get("title")
        if own is not None:
            return str(own)
        first = next((child for child in self.children if isinstance(child, HeadingNode)), None)
        return first.title if first is not None else ""


MarkdownTree = HeadingNode | None


def node_block(node: Node) -> HeadingBlock | TextBlock | None:
    """Return the heading or text of a node."""
    if isinstance(node, HeadingNode):
        return node.heading
    return node.block if isinstance(node, TextNode) else None


def blocks_to_tree(blocks: Sequence[Block], name: str = UNNAMED) -> MarkdownTree:
    """Return the tree of a block list, or None for an empty list.

    name: title of documents without title and headings, never written.
    """
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
    return [block for node in traverse(tree) for block in node.blocks]


def map_tree(tree: MarkdownTree, change: Callable[[Node], Sequence[Block]]) -> MarkdownTree:
    """Return a new tree with each node's blocks (`Node.blocks`) replaced by those that `change` returns.

    An empty result removes the node. Raise MarkdownError if the text would be parsed into other blocks.
    """
    changed = [block for node in traverse(tree) for block in change(node)]
    return blocks_to_tree(settle_safely(tree_to_blocks(tree), changed))


def load_tree(path: str | Path, logger: LoggerBase | None = None) -> MarkdownTree:
    """Return the tree of a file, or None if it is empty or, after reporting an error, unreadable."""
    text = load_markdown(path, logger)
    return None if text is None else blocks_to_tree(parse_markdown_text(text), Path(path).stem or UNNAMED)


def serialize_tree(tree: MarkdownTree) -> str:
    """Return the text of a tree."""
    return serialize_blocks(tree_to_blocks(tree))


def save_tree(tree: MarkdownTree, path: str | Path, logger: LoggerBase | None = None) -> bool:
    """Write a tree's text to a file; return False after reporting an error."""
    return save_markdown(path, serialize_tree(tree), logger)


def traverse(tree: Node | None) -> Iterator[Node]:
    """Yield all nodes in document order, sections before their content."""
    stack: list[Node] = [tree] if tree is not None else []
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, HeadingNode):
            stack.extend(reversed(node.children))


def traverse_post(tree: Node | None) -> Iterator[Node]:
    """Yield all nodes, sections after their content."""
    stack: list[tuple[Node, bool]] = [(tree, False)] if tree is not None else []
    while stack:
        node, is_expanded = stack.pop()
        if is_expanded or not isinstance(node, HeadingNode):
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


def sections(tree: MarkdownTree, post: bool = False) -> list[HeadingNode]:
    """Return the document and all sections, outer ones first (last with `post`)."""
    nodes = traverse_post(tree) if post else traverse(tree)
    return [node for node in nodes if isinstance(node, HeadingNode)]


def fold_post(tree: Node | None, step: Callable[[Node, list[T]], T]) -> T | None:
    """Fold a tree bottom-up: apply `step` to each node and the results of its children."""
    results: dict[int, T] = {}
    last: T | None = None
    for node in traverse_post(tree):
        children = node.children if isinstance(node, HeadingNode) else []
        last = step(node, [results.pop(id(child)) for child in children])
        results[id(node)] = last
    return last


def titles_path(node: Node) -> list[str]:
    """Return the titles from the document down to a node, without repetitions."""
    path: list[str] = []
    for section in [*node.ancestors, *([node] if isinstance(node, HeadingNode) else [])]:
        title = section.written_title
        if title and title not in path[-1:]:
            path.append(title)
    return path
