"""Decisions on edits, which replace both texts by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..logging import LoggerBase
from ..markdown.blocks import (
    Block,
    HeadingBlock,
    MetadataBlock,
    Problem,
    TextBlock,
    blank,
    ends_blank,
    newline_of,
    prefix_block,
    serialize_blocks,
    trim_blank_lines,
)
from ..markdown.edits import ASKED_KEY, EDIT_KEY, Edit, broken_edits, open_edit, read_edit
from ..markdown.metadata.body import DELETED
from ..markdown.metadata.keys import digest
from ..markdown.parse import parse_markdown_text
from ..markdown.spelling import edit_block, settle
from .header import report_broken_edits
from .record import EDIT

EDIT_FLOW = frozenset({EDIT_KEY})


@dataclass
class Decision:
    """The document, the number of decided edits, and metadata without a place in new texts."""

    blocks: list[Block]
    count: int = 0
    unplaced: list[str] = field(default_factory=list)


def decide_edits(blocks: Sequence[Block], line: int | None, logger: LoggerBase, *, accept: bool) -> Decision:
    """Return the document with the new versions of all edits, or of the one at `line` (from 1).

    Old metadata moves to the same headings and paragraphs.
    accept: False for the old texts, byte for byte
    """
    if report_broken_edits(blocks, logger):
        return Decision(list(blocks))
    decided: list[Block] = []
    decision, ending = Decision([]), None
    above: dict[int, str] = {}  # former whitespace above rejected edits
    for at, block in enumerate(blocks):
        edit = read_edit(block)
        owner = _owner(decided, edit) if edit else None
        if edit is None or not _is_at(block, decided, owner, line):
            decided.append(block)
        elif owner is None or (accept and _problem_in(edit.new)):
            logger.error(_refusal(edit, owner), block.line)
            decided.append(block)
        else:
            decision.count += 1
            is_last = at == len(blocks) - 1
            text, record = _decided(decided, owner, edit, accept, decision, logger), _edit_record(decided[owner])
            region = _with_trailing_space(text, decided[owner], block, is_last, edit.old is None)
            decided[owner] = _without_request(decided[owner]) if accept else _decided_block(decided[owner])
            if not accept and "above" in record:
                above[id(decided[-1])] = str(record["above"])
            ending = str(record.get("before") or "") if text is None and is_last else None
            decided.append(region)
    if line is not None and not decision.count:
        logger.error(f"no edit waits at line {line}")
    decided = _set_apart(settle(blocks, [block for block in decided if block.source]), blocks)
    decided = [_with_former_space(block, above[id(block)]) if id(block) in above else block for block in decided]
    if ending is not None:
        decided[-1] = _with_former_space(decided[-1], ending)
    decision.blocks = parse_markdown_text(serialize_blocks(decided)) if decision.count else list(blocks)
    return decision


def _refusal(edit: Edit, owner: int | None) -> str:
    if owner is None:
        return f"edit {edit.ident}: no block above names it under ~~edit; decide it by hand"
    return f"edit {edit.ident} not accepted: in the new text, {_problem_in(edit.new)}"


def _set_apart(blocks: list[Block], before: Sequence[Block]) -> list[Block]:
    """Return the blocks with blank lines where a new text would absorb the next block."""
    old = {id(block) for block in before}
    for at in range(1, len(blocks)):
        previous = blocks[at - 1]
        if (
            isinstance(previous, TextBlock)
            and id(previous) not in old
            and not _is_separate(previous.source, blocks[at])
        ):
            blocks[at] = prefix_block(blocks[at], newline_of(previous.source))
    return blocks


def _is_separate(source: str, following: Block) -> bool:
    if ends_blank(source):
        return True
    parsed = parse_markdown_text(source + following.source)
    return serialize_blocks(parsed[-1:]) == following.source


def _problem_in(text: str) -> str:
    problems: list[Problem] = []
    markers = broken_edits(parse_markdown_text(text, problems))
    return next((problem.message for problem in [*problems, *markers]
                 if "not closed" in problem.message or problem in markers), "")  # fmt: skip


def _owner(above: Sequence[Block], edit: Edit) -> int | None:
    at = len(above) - 1
    while at >= 0 and isinstance(above[at], MetadataBlock):
        block = above[at]
        if isinstance(block, MetadataBlock) and open_edit(block) == edit.ident:
            return at
        at -= 1
    return None


def _is_at(region: Block, above: Sequence[Block], owner: int | None, line: int | None) -> bool:
    if line is None:
        return True
    first = above[owner].line if owner is not None else region.line
    return first <= line < region.line + len(region.source.rstrip().split("\n"))


def _decided(
    above: list[Block], owner: int, edit: Edit, accept: bool, decision: Decision, logger: LoggerBase
) -> str | None:
    block = above[owner]
    record = _edit_record(block)
    if accept:
        text, unplaced = carry_metadata(edit.old or "", edit.new)
        decision.unplaced += unplaced
        return text
    if edit.old is not None and digest(edit.old) != record.get("old"):
        logger.info(
            f"edit {edit.ident}: the old text has been changed by hand since, and is used as it is now", block.line
        )
    return None if edit.old is None else str(record.get("before") or "") + edit.old


def _with_trailing_space(text: str | None, owner: Block, region: Block, last: bool, added: bool) -> TextBlock:
    if text is None:
        return TextBlock("")
    newline = newline_of(owner.source)
    after = str(_edit_record(owner).get("after") or "")
    tail = trailing_space(region.source)
    if last or after == tail:
        return TextBlock(text + (tail if added else after))
    return TextBlock(text + tail + ("" if ends_blank(text + tail) else newline))


def _decided_block(block: Block) -> Block:
    assert isinstance(block, MetadataBlock)
    return edit_block(block, {EDIT_KEY: {"asked": _edit_record(block).get("asked") or []}}, EDIT_FLOW) or block


def _without_request(block: Block) -> Block:
    assert isinstance(block, MetadataBlock)
    requests = [message for message in block.messages if message.key in EDIT and message.text.strip()]
    if any(digest(request.text) not in (_edit_record(block).get("asked") or []) for request in requests):
        return _decided_block(block)
    keys = {message.key for message in block.messages if message.key in EDIT} | {EDIT_KEY}
    keys |= {ASKED_KEY} & block.content.keys()
    return edit_block(block, dict.fromkeys(keys, DELETED)) or TextBlock("")


def _with_former_space(block: Block, before: str) -> Block:
    return replace(block, source=block.source.rstrip(" \t\r\n") + before) if blank(before) else block


def trailing_space(source: str) -> str:
    """Return the trailing whitespace."""
    return source[len(source.rstrip(" \t\r\n")) :]


def _edit_record(block: Block) -> dict[str, Any]:
    record = block.content.get(EDIT_KEY) if isinstance(block, MetadataBlock) else None
    return record if isinstance(record, dict) else {}


def carry_metadata(old: str, new: str) -> tuple[str, list[str]]:
    """Return the new text with the old one's metadata, and the blocks that fit nowhere."""
    new = new.strip("\r\n")
    rest = parse_markdown_text(new)
    places, unplaced = _find_places(parse_markdown_text(old), rest)
    carried: list[Block] = []
    for at, block in enumerate(rest):
        carried += [metadata for place, metadata in places if place == at]
        carried.append(block)
    return serialize_blocks(settle(rest, carried)), unplaced


def _find_places(old: Sequence[Block], new: Sequence[Block]) -> tuple[list[tuple[int, MetadataBlock]], list[str]]:
    places: list[tuple[int, MetadataBlock]] = []
    unplaced: list[str] = []
    waiting: list[MetadataBlock] = []
    at = 0
    for block in old:
        if isinstance(block, MetadataBlock):
            waiting.append(block)
            continue
        place = next((n for n in range(at, len(new)) if _is_same_block(new[n], block)), None) if waiting else None
        if place is not None:
            places += [(place, metadata) for metadata in waiting]
            at = place
        else:
            unplaced += [trim_blank_lines(metadata.source) for metadata in waiting if _is_writers(metadata)]
        waiting = []
    unplaced += [trim_blank_lines(metadata.source) for metadata in waiting if _is_writers(metadata)]
    return places, unplaced


def _is_same_block(block: Block, other: Block) -> bool:
    if isinstance(block, HeadingBlock) and isinstance(other, HeadingBlock):
        return (block.level, block.title) == (other.level, other.title)
    return type(block) is type(other) and trim_blank_lines(block.source) == trim_blank_lines(other.source)


def _is_writers(block: MetadataBlock) -> bool:
    return bool(block.messages) or any(not key.startswith("~") for key in block.content)
