"""Documents with the old texts in place of proposed edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .blocks import Block, TextBlock, newline_of
from .edits import Edit, read_edit
from .parse import parse_markdown_text


@dataclass(slots=True)
class RestoredBlocks:
    """`blocks` with the old texts in place of edits; `regions` gives the edit's block
    for each block (by `id`) that has come out of it."""

    blocks: list[Block]
    regions: dict[int, TextBlock]

    def fold(self, blocks: Sequence[Block]) -> list[Block]:
        """Return a list of blocks with the edits in place of what came out of them."""
        folded: list[Block] = []
        done: set[int] = set()
        for block in blocks:
            region = self.regions.get(id(block))
            if region is None:
                folded.append(block)
            elif id(region) not in done:
                folded.append(region)
                done.add(id(region))
        return folded


def restore_originals(blocks: Sequence[Block]) -> RestoredBlocks:
    """Return the blocks with the old texts in place of edits."""
    unfolded = RestoredBlocks([], {})
    for block in blocks:
        edit = read_edit(block)
        if edit is None or not isinstance(block, TextBlock):
            unfolded.blocks.append(block)
            continue
        for old in _old_blocks(edit, block):
            unfolded.blocks.append(old)
            unfolded.regions[id(old)] = block
    return unfolded


def _old_blocks(edit: Edit, block: TextBlock) -> Iterator[Block]:
    after = block.source[len(block.source.rstrip(" \t\r\n")) :] or newline_of(block.source)
    old = (edit.old or "") + after if edit.old else ""
    parsed = parse_markdown_text(old) or [TextBlock("")]  # the block before needs something to annotate
    for part in parsed:
        yield replace(part, line=part.line + block.line + edit.line - 1)
