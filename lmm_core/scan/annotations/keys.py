"""Removal of keys that a person names, from all metadata, whoever wrote them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...logging import ConsoleLogger, LoggerBase
from ...markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock
from ...markdown.edits import ASKED_KEY, EDIT_KEY, open_edit, read_edit
from ...markdown.metadata.body import DELETED
from ...markdown.metadata.ownership import HASHES, read_hashes, short_hashes
from ...markdown.parse import parse_markdown_text
from ..exchange.record import EDIT
from ..header import report_broken_edits
from ..system_keys import EMPTY, TIGHT
from .needs import MAKER
from .removal import take_from_block, take_out_edited

_OF_EDITS = EDIT | {EDIT_KEY, ASKED_KEY}


@dataclass
class KeyRemoval:
    """Takes keys out of the header and all other metadata, as they are spelled there (`~summary`, `?`).

    What the hashes say of a key goes with it. `count` is the number of entries that were taken out,
    `known` the keys that there were."""

    keys: Collection[str]
    logger: LoggerBase = field(default_factory=ConsoleLogger)
    count: int = field(default=0, init=False)
    known: set[str] = field(default_factory=set, init=False)

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document without them. Blocks with nothing left in them go, and all other lines stay
        as they are. What cannot be taken out is reported."""
        if report_broken_edits(blocks, self.logger):
            return list(blocks)
        edited: dict[int, MetadataBlock | None] = {}
        counts: dict[int, int] = {}
        tight: set[int] = set()
        for block in blocks:
            if isinstance(block, MetadataBlock):
                self.known |= _keys_in(block)
                if changes := self._changes(block):
                    take_from_block(block, changes, edited, tight, self.logger)
                    counts[id(block)] = len(self._leaving(block))
            else:
                self._report_kept(block)
        made, self.count = take_out_edited(blocks, edited, tight, counts, self.logger)
        return made

    def _leaving(self, block: MetadataBlock) -> set[str]:
        leaving = _keys_in(block) & set(self.keys)
        return leaving - _OF_EDITS if open_edit(block) else leaving

    def _changes(self, block: MetadataBlock) -> dict[str, Any]:
        """Return the changes of a block."""
        leaving = self._leaving(block)
        if open_edit(block) and set(self.keys) & _keys_in(block) & _OF_EDITS:
            self.logger.warning("an edit waits here; run `lmm accept` or `lmm reject` first", block.line)
        changes: dict[str, Any] = dict.fromkeys(leaving, DELETED)
        hashes = {key: pair for key, pair in read_hashes(block.content).items() if f"~{key}" not in leaving}
        if leaving and hashes != read_hashes(block.content):
            changes.setdefault(HASHES, short_hashes(hashes) if hashes else DELETED)
        gone = {key for key, value in changes.items() if value is DELETED}
        if gone and not isinstance(block, HeaderBlock) and _keys_in(block) - gone <= {MAKER, EMPTY, TIGHT}:
            changes |= dict.fromkeys({MAKER, EMPTY, TIGHT} & block.content.keys(), DELETED)  # they are about nothing
        return changes

    def _report_kept(self, block: Block) -> None:
        """Report a block that holds keys and is left as it is."""
        named = set(self.keys)
        if isinstance(block, ErrorBlock) and any(f"{key}:" in block.source for key in named):
            self.logger.error(f"this block is left as it is: {block.message}", block.error_line)
        elif (edit := read_edit(block)) and any(_keys_of(text) & named for text in (edit.old or "", edit.new)):
            self.logger.warning(
                "an edit waits here, and keys inside it are kept; run `lmm accept` or `lmm reject` first", block.line
            )


def _keys_in(block: MetadataBlock) -> set[str]:
    return {*block.content, *(message.key for message in block.messages)}


def _keys_of(text: str) -> set[str]:
    """Return all keys of a text's metadata."""
    found = (block for block in parse_markdown_text(text) if isinstance(block, MetadataBlock))
    return {key for block in found for key in _keys_in(block)}
