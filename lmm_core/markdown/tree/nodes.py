"""The nodes of a tree: the document, its sections, and the texts in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..blocks import ErrorBlock, HeadingBlock, MetadataBlock, TextBlock
from ..metadata.ownership import find_key


@dataclass(slots=True, eq=False)
class Node:
    """The common part of headings and texts.

    metadata: the blocks that annotate the node, nearest last; parent: the section it stands in."""

    metadata: list[MetadataBlock] = field(default_factory=list)
    parent: HeadingNode | None = None

    @property
    def properties(self) -> dict[str, Any]:
        """Return the keys of all blocks that annotate this node; the nearest block wins."""
        if len(self.metadata) == 1:
            return self.metadata[0].content
        return {key: value for block in self.metadata for key, value in block.content.items()}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the node's own value of `key=`, `key` or `~key`, the first that exists."""
        properties = self.properties
        found = find_key(properties, key) if properties else None
        return default if found is None else properties[found]

    def fetch(self, key: str, default: Any = None) -> Any:
        """Return the value from the nearest of this node and the sections around it."""
        node: Node | None = self
        while node is not None:
            properties = node.properties
            if (found := find_key(properties, key)) is not None:
                return properties[found]
            node = node.parent
        return default

    @property
    def ancestors(self) -> list[HeadingNode]:
        """Return the sections around this node, outermost (the document) first."""
        found: list[HeadingNode] = []
        node = self.parent
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


@dataclass(slots=True, eq=False)
class TextNode(Node):
    """A text block; `block` is None if metadata annotates nothing, at the end of a document."""

    block: TextBlock | None = None

    @property
    def content(self) -> str:
        """Return the text, or "" for an error block, which is no text of the document."""
        return self.block.content if self.block is not None and not isinstance(self.block, ErrorBlock) else ""


@dataclass(slots=True, eq=False)
class HeadingNode(Node):
    """A section: its heading and what stands under it."""

    heading: HeadingBlock | None = None
    level: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the heading's text."""
        return self.heading.title if self.heading is not None else ""

    @property
    def line(self) -> int:
        """Return the line of the heading, or of the header's start; from 1."""
        if self.heading is not None:
            return self.heading.line
        return max(1, self.metadata[0].line) if self.metadata else 1

    @property
    def sections(self) -> list[HeadingNode]:
        """Return the sections directly below."""
        return [child for child in self.children if isinstance(child, HeadingNode)]

    @property
    def texts(self) -> list[TextNode]:
        """Return the texts directly below."""
        return [child for child in self.children if isinstance(child, TextNode)]


@dataclass(slots=True, eq=False)
class HeaderNode(HeadingNode):
    """The document; its metadata is the header, if one is written."""

    @property
    def title(self) -> str:
        """Return the header's title, else the first heading's."""
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
