"""Removal of the system's annotations, which restores the writer's text to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import MarkdownError
from ...logging import LoggerBase
from ...markdown.blocks import Block, ErrorBlock, MetadataBlock, blank, newline_of
from ...markdown.edits import read_edit, restore_originals
from ...markdown.metadata.body import DELETED, edit_metadata
from ...markdown.metadata.keys import HASHES, digest, hash_pair, read_hashes, short_hashes
from ...markdown.parse import parse_markdown_text
from ...markdown.spelling import take_out, with_body
from ...markdown.tree import HeaderNode, HeadingNode, Node, blocks_to_tree, traverse
from ..check.near_misses import line_of
from ..system_keys import EMPTY, FLOW_KEYS, TIGHT
from .needs import MAKER
from .sections import annotated_parts, div_title, flagged_parts

BY_ANNOTATOR = ("questions", "summary")
PROTECTED = (*BY_ANNOTATOR, "titles")  # by `frozen: true`
PUBLIC = (*PROTECTED, "title", "docid")
IDENTITIES = ("~~textid", "~~headingid", "~~textUUID", "~~headingUUID")  # written by earlier versions
SYSTEM_KEYS = frozenset({*(f"~{name}" for name in PUBLIC), *IDENTITIES, HASHES, MAKER})
_SYSTEM_KEY = re.compile(rf"^[ \t-]*(?:{'|'.join(sorted(SYSTEM_KEYS))})[ \t]*:", re.M)


@dataclass
class Removal:
    """A removal of annotations, titles and ids; `corrected` includes frozen and corrected values."""

    corrected: bool
    logger: LoggerBase

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document without annotations; blocks that have to stay are reported."""
        originals = restore_originals(blocks)
        tree = blocks_to_tree(originals.blocks)
        if tree is None:
            return list(blocks)
        self._report_kept(blocks)
        self._frozen = flagged_parts(annotated_parts(tree), "frozen")
        self._nodes = [node for node in traverse(tree) if node.metadata]
        self._tight: set[int] = set()
        self._leaving = {id(node): set(self._find_leaving(node)) for node in self._nodes}
        edited: dict[int, MetadataBlock | None] = {}
        for node in self._nodes:
            for block in node.metadata:
                changes = {} if id(block) in originals.regions else self._changes(node, block)
                if changes:
                    self._edit(block, changes, edited)
        try:
            cleared, stayed = take_out(blocks, edited, self._tight)
        except MarkdownError as error:
            self.logger.error(f"not cleared: {error}")
            return list(blocks)
        for block_left in stayed:
            self.logger.error(
                "this block is kept: without it, what follows would be read as something else", block_left.line
            )
        return cleared

    def _edit(self, block: MetadataBlock, changes: dict[str, Any], edited: dict[int, MetadataBlock | None]) -> None:
        try:
            body = edit_metadata(block.body, changes, newline_of(block.source), FLOW_KEYS)
        except MarkdownError as error:
            self.logger.error(f"not cleared: {error}", block.line)
            return
        if changes.get(TIGHT) is DELETED:
            self._tight.add(id(block))
        edited[id(block)] = None if blank(body) and EMPTY not in block.content else with_body(block, body)

    def _find_leaving(self, node: Node) -> Iterator[str]:
        hashes = read_hashes(node.properties)
        for name in dict.fromkeys((*PUBLIC, *(key for key in hashes if key != "chat"))):
            values = [block for block in node.metadata if f"~{name}" in block.content]
            staying = [] if self.corrected else [block for block in values if self._is_kept(name, node, block)]
            if (values or name in hashes) and not staying:
                yield name

    def _is_kept(self, name: str, node: Node, block: MetadataBlock) -> bool:
        section = node if isinstance(node, HeadingNode) or div_title(node) else node.parent
        pair = hash_pair(block.content, name) or hash_pair(node.properties, name)
        if pair is None:
            why = "was written by hand"
        elif digest(block.content[f"~{name}"]) != pair[1]:
            why = "was corrected by hand"
        elif name in PROTECTED and id(section) in self._frozen:
            why = "is frozen"
        else:
            return False
        line = block.line + line_of(f"~{name}", block.source)
        self.logger.info(f"~{name} {why} and is kept; --all takes it out, too", line)
        return True

    def _changes(self, node: Node, block: MetadataBlock) -> dict[str, Any]:
        content, leaving = block.content, self._leaving[id(node)]
        removed = {*IDENTITIES, *(f"~{name}" for name in leaving)} & content.keys()
        if MAKER in content and not any(map(self._has_left, self._signed_by(node))):
            removed.add(MAKER)
        hashes = {key: pair for key, pair in read_hashes(content).items() if key not in leaving}
        if HASHES in content and not hashes:
            removed.add(HASHES)
        changes: dict[str, Any] = dict.fromkeys(removed, DELETED)
        if hashes and hashes != read_hashes(content):
            changes[HASHES] = short_hashes(hashes)
        system_keys = {key for key in content if key in SYSTEM_KEYS or key.removeprefix("~") in read_hashes(content)}
        if not system_keys - removed:  # no layout is left to restore
            changes |= dict.fromkeys({EMPTY, TIGHT} & content.keys(), DELETED)
        return changes

    def _signed_by(self, node: Node) -> list[Node]:
        """Return the parts whose annotator a node names: its own, and for the header all unsigned ones."""
        if not isinstance(node, HeaderNode):
            return [node]
        return [part for part in self._nodes if part is node or not part.properties.get(MAKER)]

    def _has_left(self, node: Node) -> bool:
        hashes, leaving = read_hashes(node.properties), self._leaving[id(node)]
        return any(name not in leaving and (name in hashes or f"~{name}" in node.properties) for name in BY_ANNOTATOR)

    def _report_kept(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if isinstance(block, ErrorBlock) and _SYSTEM_KEY.search(block.source):
                self.logger.error(f"this block is left as it is: {block.message}", block.error_line)
            elif (edit := read_edit(block)) and any(map(_holds_system_keys, (edit.old or "", edit.new))):
                self.logger.warning(
                    "an edit waits here, and annotations inside it are kept; run `lmm accept` or `lmm reject` first",
                    block.line,
                )
        lm_markdown = (block for block in blocks if isinstance(block, MetadataBlock) and "~txthash" in block.content)
        if first := next(lm_markdown, None):
            self.logger.info("annotations by LM markdown (beside ~txthash) are yours and are kept", first.line)


def _holds_system_keys(text: str) -> bool:
    blocks = parse_markdown_text(text) if "~" in text else []
    return any(isinstance(block, MetadataBlock) and _SYSTEM_KEY.search(block.body) for block in blocks)
