"""A node's place in its document: the blocks around it, and the blank lines between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, cast

from ...errors import MarkdownError
from ..blocks import BOM, Block, HeaderBlock, MetadataBlock, Spelling, ends_blank, newline_of, prefix_block
from ..spelling import edit_block, make_block
from .changed import put_behind, without_lead

if TYPE_CHECKING:
    from .nodes import HeadingNode, Node


@dataclass(slots=True, eq=False)
class Placed:
    """Base of all nodes of a document.

    metadata: the blocks that annotate the node, nearest last; parent: the section it stands in. Blocks are never
    changed, but others put in their places: the list that a tree was made of stays as it was."""

    metadata: list[MetadataBlock] = field(default_factory=list)
    parent: HeadingNode | None = None

    @property
    def blocks(self) -> list[Block]:
        """Return the node's own blocks: those that annotate it, then its heading or text."""
        return [*self.metadata, self._main] if self._main is not None else [*self.metadata]

    @property
    def _main(self) -> Block | None:
        """Return the heading or text."""
        raise NotImplementedError

    def _put_main(self, block: Any) -> None:
        """Put another heading or text in the place of this one."""
        raise NotImplementedError

    @property
    def _below(self) -> Sequence[Node]:
        """Return the nodes directly below."""
        return ()

    def _put(self, at: int, block: Block) -> None:
        """Put a block in the place of the own block number `at`."""
        if at == len(self.metadata):
            self._put_main(block)
        else:
            assert isinstance(block, MetadataBlock)
            self.metadata = [*self.metadata[:at], block, *self.metadata[at + 1 :]]

    def _annotate(self, body: str, content: Mapping[str, Any]) -> None:
        """Put a new metadata block before the node's heading or text."""
        newline, before = self._newline(), self._source_before(0)
        made = make_block(body, self._spelling(), newline)
        if made.content != content:
            raise MarkdownError("this value cannot be written as YAML")
        if before and not ends_blank(before):  # as `settle` does, so that taking it out again gives the old text
            made = replace(made, source=made.source.removesuffix(newline))
        mark = self._take_mark()
        self.metadata = [put_behind(before, made, newline, apart=True)]
        self.metadata = [cast(MetadataBlock, prefix_block(self.metadata[0], mark)) if mark else self.metadata[0]]
        self._settle(1)

    def _edit(self, at: int, changes: dict[str, Any]) -> None:
        old = self.metadata[at]
        made = edit_block(old, changes)
        if made is None:
            mark = self._take_mark()
            self.metadata = [*self.metadata[:at], *self.metadata[at + 1 :]]
            self._settle(at, mark)
            return
        self._put(at, made)
        self._settle(at, apart=made.spelling == "native")
        self._settle(at + 1)

    def _settle(self, at: int, mark: str = "", apart: bool = False) -> None:
        """Give the own block number `at`, or the next one of the document, the blank lines that it needs before it.

        mark: a byte-order mark to put before it; apart: it gets a blank line in any case."""
        node, at = (self, at) if at < len(self.blocks) else self._place_behind()
        if node is not None:
            newline = self._newline()
            block = put_behind(node._source_before(at), node.blocks[at], newline, apart)
            node._put(at, prefix_block(block, mark) if mark else block)

    def _settle_all(self, newline: str) -> None:
        """Give the blocks of a node that is new here, and of all below it, their blank lines, and the next block."""
        nodes = list(self._forwards())
        for node in nodes:
            for at, block in enumerate(node.blocks):
                if block.line == 0:
                    node._put(at, node._fitted(block, newline))
                before = node._source_before(at)
                node._put(at, put_behind(before, node.blocks[at], newline, apart=bool(before)))
        last = next(node for node in reversed(nodes) if node.blocks)
        place = last._place_behind()
        if place[0] is not None:
            block = last.blocks[-1]
            if not ends_blank(block.source):
                ended = block.source if block.source.endswith("\n") else block.source + newline
                last._put(len(last.blocks) - 1, replace(block, source=ended + newline))
            last._settle(len(last.blocks))

    def _fitted(self, block: Block, newline: str) -> Block:
        """Return a new block with the document's line ends, metadata in the spelling of the nearest."""
        if isinstance(block, MetadataBlock):
            made = make_block(block.body.replace("\r\n", "\n").replace("\n", newline), self._spelling(), newline)
            return replace(made, source=made.source.removesuffix(newline))
        return replace(block, source=block.source.replace("\r\n", "\n").replace("\n", newline))

    def _place_behind(self) -> tuple[Node | None, int]:
        """Return where the first block behind the node's own blocks stands: a node and a number."""
        return next(((node, 0) for node in self._following() if node.blocks), (None, 0))

    def _source_before(self, at: int) -> str:
        """Return the source of the block before the own block number `at`, "" at the document's start."""
        if at:
            return self.blocks[at - 1].source
        return next((blocks[-1].source for node in self._preceding() if (blocks := node.blocks)), "")

    def _take_mark(self) -> str:
        """Return the byte-order mark at the document's start if the node stands there; it is taken away from it."""
        blocks = self.blocks
        if not blocks or not blocks[0].source.startswith(BOM) or self._source_before(0):
            return ""
        self._put(0, without_lead(blocks[0], len(BOM)))
        return BOM

    def _newline(self) -> str:
        """Return the line end that the nearest text uses."""
        for node in chain([self], self._preceding(), self._following()):
            for block in node.blocks:
                if "\n" in block.source:
                    return newline_of(block.source)
        return "\n"

    def _spelling(self) -> Spelling:
        """Return the spelling of the nearest metadata block but the header, "div" if there is none."""
        for pair in zip_longest(self._preceding(), self._following()):
            for node in pair:
                if node is not None and node.metadata and not isinstance(node.metadata[-1], HeaderBlock):
                    return node.metadata[-1].spelling
        return "div"

    def _preceding(self) -> Iterator[Node]:
        """Yield the nodes before this one, the nearest first."""
        node = cast("Node", self)
        while (parent := node.parent) is not None:
            for sibling in reversed(parent.children[: parent.children.index(node)]):
                yield from sibling._backwards()
            yield parent
            node = parent

    def _following(self, inside: bool = True) -> Iterator[Node]:
        """Yield the nodes after this one, those below it included if `inside`, the nearest first."""
        if inside:
            yield from self._forwards(itself=False)
        node = cast("Node", self)
        while (parent := node.parent) is not None:
            for sibling in parent.children[parent.children.index(node) + 1 :]:
                yield from sibling._forwards()
            node = parent

    def _forwards(self, itself: bool = True) -> Iterator[Node]:
        if itself:
            yield cast("Node", self)
        for child in self._below:
            yield from child._forwards()

    def _backwards(self) -> Iterator[Node]:
        for child in reversed(self._below):
            yield from child._backwards()
        yield cast("Node", self)
