"""The nodes of a tree: the document, its sections, and the texts in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ...errors import MarkdownError
from ..blocks import (
    ErrorBlock,
    FrontMatterBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    prefix_block,
)
from ..metadata.body import DELETED, dump_entry
from ..metadata.keys import MESSAGE_KEYS
from ..metadata.ownership import digest, find_key
from ..spelling import make_block
from .changed import checked_text, with_level, with_text, with_title
from .places import Placed

UNNAMED = "Title"
N = TypeVar("N", bound="Node")


@dataclass(slots=True, eq=False)
class Node(Placed):
    """The common part of headings and texts (see `Placed` for `metadata` and `parent`)."""

    @property
    def properties(self) -> dict[str, Any]:
        """Return the keys of all blocks that annotate this node; the nearest block wins."""
        if len(self.metadata) == 1:
            return self.metadata[0].content
        return {key: value for block in self.metadata for key, value in block.content.items()}

    def get(self, key: str, default: Any = None) -> Any:
        """Return the node's own value of `key=`, `key` or `~key`, the first that exists."""
        if not self.metadata:  # as most texts
            return default
        properties = self.properties
        found = find_key(properties, key)
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

    @property
    def content(self) -> str:
        """Return the text of a text node, the title of a section."""
        raise NotImplementedError

    def set(self, key: str, value: Any) -> None:
        """Set a key of the node's metadata, in place, under the spelling that `get` finds, else as it is given.

        Only the lines of that key change. A node without metadata gets a block, spelled like the nearest one;
        the document gets a header. Raise MarkdownError if that block cannot be edited, or the key is a message."""
        if key in MESSAGE_KEYS:
            raise MarkdownError(f"`{key}` is a message: messages are written into a text, and `remove` takes them out")
        spelled = find_key(self.properties, key) or key
        if spelled in self.properties and digest(self.properties[spelled]) == digest(value):
            return
        held = [at for at, block in enumerate(self.metadata) if spelled in block.content]
        if not self.metadata:
            self._annotate(dump_entry(spelled, value, newline=self._newline()), {spelled: value})
        else:
            self._edit(held[-1] if held else len(self.metadata) - 1, {spelled: value})

    def remove(self, key: str) -> None:
        """Remove a key of the node's metadata, in place and in all its spellings; a block left empty goes, too.

        Messages can be removed as well (`?`, `query`, …). Raise MarkdownError if the block cannot be edited."""
        spellings = (key, f"{key}=", f"~{key}")
        for at in reversed(range(len(self.metadata))):
            block = self.metadata[at]
            there = {*block.content, *(message.key for message in block.messages)}
            if gone := dict.fromkeys(there.intersection(spellings), DELETED):
                self._edit(at, gone)


@dataclass(slots=True, eq=False)
class TextNode(Node):
    """A text block; `block` is None if metadata annotates nothing, at the end of a document."""

    block: TextBlock | None = None

    @property
    def content(self) -> str:
        """Return the text, or "" for an error block, which is no text of the document."""
        return self.block.content if self.block is not None and not isinstance(self.block, ErrorBlock) else ""

    @property
    def _main(self) -> TextBlock | None:
        return self.block

    def _put_main(self, block: TextBlock) -> None:
        self.block = block

    @staticmethod
    def from_content(content: str, metadata: Mapping[str, Any] | None = None) -> TextNode:
        """Return a text to be added to a section. Raise MarkdownError as `set_content`."""
        return _annotated(TextNode(block=TextBlock(checked_text(content, "\n") + "\n", 0)), metadata)

    def _annotate(self, body: str, content: Mapping[str, Any]) -> None:
        self._refuse_front_matter()
        Node._annotate(self, body, content)

    def _refuse_front_matter(self) -> None:
        if isinstance(self.block, FrontMatterBlock):
            raise MarkdownError(f"this is front matter ({self.block.language}) for other programs, and stays as it is")

    def set_content(self, content: str) -> None:
        """Replace the text, in place; the blank lines around it stay.

        Raise MarkdownError if it is empty or holds a heading, metadata or something that is not closed. (Several
        paragraphs are one node until the document is read again.)"""
        self._refuse_front_matter()
        newline, at = self._newline(), len(self.metadata)
        text = checked_text(content, newline, self.content)
        if self.block is None:
            self._put(at, TextBlock(text + newline * (2 if self._place_behind()[0] else 1), 0))
        elif text != self.content:
            self._put(at, with_text(self.block, text))
        else:
            return
        self._settle(at)
        self._settle(at + 1)


@dataclass(slots=True, eq=False)
class HeadingNode(Node):
    """A section: its heading and what stands under it."""

    heading: HeadingBlock | None = None
    level: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the heading's text."""
        return self.written_title

    @property
    def written_title(self) -> str:
        """Return the title that the document gives, "" if it gives none."""
        return self.heading.title if self.heading is not None else ""

    @property
    def content(self) -> str:
        """Return the title."""
        return self.title

    @property
    def _main(self) -> HeadingBlock | None:
        return self.heading

    def _put_main(self, block: HeadingBlock) -> None:
        self.heading = block

    @property
    def _below(self) -> list[Node]:
        return self.children

    @staticmethod
    def from_content(title: str, metadata: Mapping[str, Any] | None = None, level: int = 1) -> HeadingNode:
        """Return a section that stands in no document yet, to be added to another. Raise MarkdownError for a title
        that would be read as something else."""
        heading = with_title(HeadingBlock("#" * level + "\n", 0, level), title.strip())
        return _annotated(HeadingNode(heading=heading, level=level), metadata)

    def set_content(self, content: str) -> None:
        """Change the title, in place; the heading's level and attributes stay.

        Raise MarkdownError if it would be read as something else."""
        if self.heading is not None:
            self.heading = with_title(self.heading, content.strip())

    def add_child(self, child: Node, at: int | None = None) -> None:
        """Add a text or a section with all that is below it, in place. A node that stands elsewhere is moved.

        at: its place among the children, from 0; texts stand before the sections, and are put there. A section
        gets a level at which it is read as a child of this one. Raise MarkdownError if that is deeper than 6."""
        if child is self or child in self.ancestors or isinstance(child, HeaderNode):
            raise ValueError("a section cannot be put below itself, nor a document into another")
        if isinstance(child, HeadingNode):
            place = len(self.children) if at is None else max(at, len(self.texts))
            child._shift(self._fitting_level(child.level, place) - child.level)
        if child.parent is not None:
            child.parent.remove_child(child)
        first, last = (0, len(self.texts)) if isinstance(child, TextNode) else (len(self.texts), len(self.children))
        newline = self._newline()
        self.children.insert(last if at is None else min(max(at, first), last), child)
        child.parent = self
        child._settle_all(newline)

    def remove_child(self, child: Node) -> None:
        """Take a text or a section with all that is below it out of this section, in place."""
        behind = next((node for node in child._following(inside=False) if node.blocks), None)
        mark = next((node for node in child._forwards() if node.blocks), child)._take_mark()
        self.children.remove(child)
        child.parent = None
        if behind is not None:
            behind._settle(0, mark)

    def _fitting_level(self, level: int, at: int) -> int:
        """Return the level nearest to `level` at which a section is read as child number `at`."""
        before, behind = self.children[:at], self.children[at:]
        level = max(level, self.level + 1, *(one.level for one in behind if isinstance(one, HeadingNode)))
        return min([level, *(one.level for one in before if isinstance(one, HeadingNode))])

    def _shift(self, levels: int) -> None:
        """Move the section and those below it some levels down."""
        inner = [node for node in self._forwards() if isinstance(node, HeadingNode) and node.heading is not None]
        made = [with_level(cast(HeadingBlock, node.heading), node.level + levels) for node in inner]
        for node, heading in zip(inner, made, strict=True):
            node.heading, node.level = heading, heading.level

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
    """The document; its metadata is the header, if one is written.

    name: the title of a document that gives none."""

    name: str = UNNAMED

    @property
    def title(self) -> str:
        """Return the header's title, else the first heading's, else the document's name. None of these is written."""
        return self.written_title or self.name

    @property
    def written_title(self) -> str:
        """Return the header's title, else the first heading's, "" if there is neither."""
        own = self.get("title")
        if own is not None:
            return str(own)
        first = next((child for child in self.children if isinstance(child, HeadingNode)), None)
        return first.title if first is not None else ""

    def set_content(self, content: str) -> None:
        """Set the title in the header, in place; a missing header is made. Raise MarkdownError as `set`."""
        self.set("title", content)

    def _annotate(self, body: str, content: Mapping[str, Any]) -> None:
        node, at = self._place_behind()
        first = node.blocks[at] if node is not None else None
        if isinstance(first, ErrorBlock | FrontMatterBlock):
            raise MarkdownError("this document begins with a block that is to be its header; mend that one")
        made = make_block(body, "native", self._newline(), header=True)
        if made.content != content:
            raise MarkdownError("this value cannot be written as YAML")
        mark = node._take_mark() if node is not None else ""
        self.metadata = [cast(MetadataBlock, prefix_block(made, mark)) if mark else made]
        self._settle(1)


MarkdownTree = HeadingNode | None


def node_block(node: Node) -> HeadingBlock | TextBlock | None:
    """Return the heading or text of a node."""
    if isinstance(node, HeadingNode):
        return node.heading
    return node.block if isinstance(node, TextNode) else None


def _annotated(node: N, metadata: Mapping[str, Any] | None) -> N:
    """Return a new node with a metadata block."""
    if metadata:
        node._annotate("".join(dump_entry(key, value) for key, value in metadata.items()), metadata)
    return node
