"""Proposed edits: old and new text side by side until the writer decides.

    ###### old text {#lmm-old-k3x9}

    …

    ###### new text {#lmm-new-k3x9}

    …

    ###### end of edit {#lmm-end-k3x9}

All of this is one text block. An edit that only adds text has no old text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from .blocks import Block, HeadingBlock, MetadataBlock, Problem, TextBlock, newline_of
from .parse import parse_markdown_text
from .regions import EDIT_MARKER, edit_regions

EDIT_KEY = "~~edit"
ASKED_KEY = "~~asked"  # marks of requests that quote students' questions
Kind = Literal["old", "new", "end"]
_TITLES = {"old": "old text", "new": "new text", "end": "end of edit"}
_IDENTIFIER = re.compile(r"lmm-(old|new|end)-([0-9a-z]+)")


@dataclass(frozen=True, slots=True)
class Edit:
    """A proposed edit; `old` begins on this `line` of the block, from 0."""

    ident: str
    old: str | None
    new: str
    line: int = 0


def read_edit(block: Block) -> Edit | None:
    """Return the edit held in a text block, or None."""
    if not isinstance(block, TextBlock) or "{#lmm-" not in block.source:
        return None
    source = block.source
    start = len(source) - len(source.lstrip(" \t\r\n\ufeff"))
    opening = EDIT_MARKER.match(source, start)
    if not opening or start not in edit_regions(source):
        return None
    own = [marker for marker in EDIT_MARKER.finditer(source) if marker["id"] == opening["id"]]
    texts = [_between(source, start_marker, end_marker) for start_marker, end_marker in pairwise(own)]
    old = texts[0] if len(own) == 3 else None
    line = source.count("\n", start, own[0].end()) + 2 if len(own) == 3 else 0
    return Edit(opening["id"], old, texts[-1], line)


def _between(source: str, opening: re.Match[str], closing: re.Match[str]) -> str:
    text = source[opening.end() : closing.start()]
    for _ in range(2):
        text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    newline = "\r\n" if text.endswith("\r\n") else "\n"  # the text itself may end in CR
    return text.removesuffix(newline).removesuffix(newline)


def write_edit(edit: Edit, newline: str, after: str = "") -> TextBlock:
    """Return the text block of an edit."""
    gap = newline * 2
    parts = [] if edit.old is None else [_marker("old", edit.ident), gap, edit.old, gap]
    parts += [_marker("new", edit.ident), gap, edit.new, gap, _marker("end", edit.ident), after or newline]
    return TextBlock("".join(parts))


def _marker(kind: Kind, ident: str) -> str:
    return f"###### {_TITLES[kind]} {{#lmm-{kind}-{ident}}}"


def new_ident(*texts: str) -> str:
    """Return a random identifier that occurs in none of the texts."""
    import secrets  # slow import: loads OpenSSL

    while True:
        ident = secrets.token_hex(3)
        # an all-digit identifier would be a YAML number
        if ident[0].isalpha() and not any(ident in text for text in texts):
            return ident


def open_edit(block: MetadataBlock) -> str | None:
    """Return the identifier of the pending edit below a block, or None."""
    record = block.content.get(EDIT_KEY)
    return str(record["id"]) if isinstance(record, dict) and "id" in record else None


def broken_edits(blocks: Sequence[Block]) -> list[Problem]:
    """Return a problem for each edit with incomplete markers."""
    problems: dict[str, Problem] = {}
    for block in blocks:
        if "#lmm-" not in block.source or not isinstance(block, HeadingBlock):
            continue
        if match := _IDENTIFIER.fullmatch(block.attributes.identifier):
            message = (
                f"edit {match[2]}: its markers (###### old text, ###### new text, ###### end of edit) have to stand "
                "there once each and in this order; mend them, or take them out"
            )
            problems.setdefault(match[2], Problem(block.line, message))
    return list(problems.values())


@dataclass(slots=True)
class RestoredBlocks:
    """Blocks with old texts in place of edits; `regions` maps ids to the edits' blocks."""

    blocks: list[Block]
    regions: dict[int, TextBlock]

    def fold(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the blocks with the edits put back."""
        folded: list[Block] = []
        folded_ids: set[int] = set()
        for block in blocks:
            region = self.regions.get(id(block))
            if region is None:
                folded.append(block)
            elif id(region) not in folded_ids:
                folded.append(region)
                folded_ids.add(id(region))
        return folded


def restore_originals(blocks: Sequence[Block]) -> RestoredBlocks:
    """Return the blocks with edits replaced by their old texts."""
    unfolded = RestoredBlocks([], {})
    if not any("{#lmm-" in block.source for block in blocks):  # fast path
        return RestoredBlocks([*blocks], {})
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
    parsed = parse_markdown_text(old) or [TextBlock("")]  # metadata above needs a block to annotate
    for part in parsed:
        yield replace(part, line=part.line + block.line + edit.line - 1)
