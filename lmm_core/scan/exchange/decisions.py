"""Deciding on edits: the new version or the old text takes the place of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...logging import ConsoleLogger, LoggerBase
from ...markdown.blocks import (
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
from ...markdown.edits import EDIT_KEY, Edit, broken_edits, open_edit, read_edit
from ...markdown.metadata.ownership import digest
from ...markdown.parse import parse_markdown_text
from ...markdown.spelling import edit_block, settle
from ..header import report_broken

EDIT_FLOW = frozenset({EDIT_KEY})


@dataclass
class Decision:
    """What came of deciding: the document, how many edits were decided, and metadata of
    the writer's in a text that has been replaced, which found no place in the new one."""

    blocks: list[Block]
    count: int = 0
    homeless: list[str] = field(default_factory=list)


def accept_edits(blocks: Sequence[Block], line: int | None = None, logger: LoggerBase | None = None) -> Decision:
    """The document with the new versions in place of the old texts: of all edits, or of
    the one at a line (from 1). Metadata inside the old text goes along to the same
    headings and paragraphs of the new one."""
    return _decide(blocks, line, True, logger or ConsoleLogger())


def reject_edits(blocks: Sequence[Block], line: int | None = None, logger: LoggerBase | None = None) -> Decision:
    """The document with the old texts, byte for byte; as `accept_edits`."""
    return _decide(blocks, line, False, logger or ConsoleLogger())


def _decide(blocks: Sequence[Block], line: int | None, accept: bool, logger: LoggerBase) -> Decision:
    if report_broken(blocks, logger):
        return Decision(list(blocks))
    made: list[Block] = []
    decision = Decision([])
    for at, block in enumerate(blocks):
        edit = read_edit(block)
        owner = _owner(made, edit) if edit else None
        if edit is None or not _is_at(block, made, owner, line):
            made.append(block)
        elif owner is None:
            logger.error(f"edit {edit.ident}: no block above says ~~edit with this name; decide it by hand", block.line)
            made.append(block)
        elif accept and (problem := _harmful(edit.new)):
            logger.error(f"edit {edit.ident} not accepted: in the new text, {problem}", block.line)
            made.append(block)
        else:
            decision.count += 1
            text = _decided(made, owner, edit, accept, decision, logger)
            made.append(_ended(text, made[owner], block, at == len(blocks) - 1, edit.old is None))
            made[owner] = _decided_block(made[owner], text is None and at == len(blocks) - 1)
    if line is not None and not decision.count:
        logger.error(f"no edit waits at line {line}")
    made = _apart(settle(blocks, [block for block in made if block.source]), blocks)
    decision.blocks = parse_markdown_text(serialize_blocks(made)) if decision.count else list(blocks)
    return decision


def _apart(made: list[Block], before: Sequence[Block]) -> list[Block]:
    """The blocks with a blank line after each text that is new: what follows it was no
    part of it."""
    old = {id(block) for block in before}
    for at in range(1, len(made)):
        previous = made[at - 1]
        if isinstance(previous, TextBlock) and id(previous) not in old and not _stands_apart(previous.source, made[at]):
            made[at] = prefix_block(made[at], newline_of(previous.source))
    return made


def _stands_apart(source: str, following: Block) -> bool:
    """Whether a block that follows a text directly is a block of its own."""
    if ends_blank(source):
        return True
    found = parse_markdown_text(source + following.source)
    return serialize_blocks(found[-1:]) == following.source


def _harmful(text: str) -> str:
    """What in a text is not closed, and would take what follows it along, or is a marker
    of an edit; "" for nothing."""
    problems: list[Problem] = []
    markers = broken_edits(parse_markdown_text(text, problems))
    return next((problem.message for problem in [*problems, *markers]
                 if "not closed" in problem.message or problem in markers), "")  # fmt: skip


def _owner(made: Sequence[Block], edit: Edit) -> int | None:
    """The place of the metadata block that an edit belongs to, above it."""
    at = len(made) - 1
    while at >= 0 and isinstance(made[at], MetadataBlock):
        block = made[at]
        if isinstance(block, MetadataBlock) and open_edit(block) == edit.ident:
            return at
        at -= 1
    return None


def _is_at(region: Block, made: Sequence[Block], owner: int | None, line: int | None) -> bool:
    if line is None:
        return True
    first = made[owner].line if owner is not None else region.line
    return first <= line < region.line + len(region.source.rstrip().split("\n"))


def _decided(
    made: list[Block], owner: int, edit: Edit, accept: bool, decision: Decision, logger: LoggerBase
) -> str | None:
    """The text that comes in place of the edit, without the white space after it; None
    for nothing."""
    block = made[owner]
    known = _known(block)
    if accept:
        text, homeless = carry_metadata(edit.old or "", edit.new, newline_of(block.source))
        decision.homeless += homeless
        return text
    if edit.old is not None and digest(edit.old) != known.get("old"):
        logger.info(f"edit {edit.ident}: the old text was changed by hand since; it is taken as it is", block.line)
    return None if edit.old is None else str(known.get("before") or "") + edit.old


def _ended(text: str | None, owner: Block, region: Block, last: bool, added: bool) -> TextBlock:
    """A text with the white space that was there before the edit; where something was
    written under the edit since, with what keeps it apart."""
    if text is None:
        return TextBlock("")
    newline = newline_of(owner.source)
    after = str(_known(owner).get("after") or "")
    tail = trailing_space(region.source)
    if last or after == tail:
        return TextBlock(text + (tail if added else after))
    return TextBlock(text + tail + ("" if ends_blank(text + tail) else newline))


def _decided_block(block: Block, ends: bool) -> Block:
    """The block above an edit, which says from now on that it was made; where it `ends`
    the document again, as it did."""
    assert isinstance(block, MetadataBlock)
    known = _known(block)
    made = edit_block(block, {EDIT_KEY: {"asked": known.get("asked") or []}}, EDIT_FLOW) or block
    before = str(known.get("before") or "")
    return replace(made, source=made.source.rstrip(" \t\r\n") + before) if ends and blank(before) else made


def trailing_space(source: str) -> str:
    """The white space at the end of a source."""
    return source[len(source.rstrip(" \t\r\n")) :]


def _known(block: Block) -> dict[str, Any]:
    """What `~~edit` says in a block."""
    found = block.content.get(EDIT_KEY) if isinstance(block, MetadataBlock) else None
    return found if isinstance(found, dict) else {}


def carry_metadata(old: str, new: str, newline: str) -> tuple[str, list[str]]:
    """The new text with the metadata blocks of the old one before the same headings
    and paragraphs; and those that hold keys of the writer's and found none."""
    new = new.strip("\r\n")
    rest = parse_markdown_text(new)
    carried: list[Block] = []
    homeless: list[str] = []
    waiting: list[MetadataBlock] = []
    places: list[tuple[int, MetadataBlock]] = []
    at = 0
    for block in parse_markdown_text(old):
        if isinstance(block, MetadataBlock):
            waiting.append(block)
            continue
        found = next((n for n in range(at, len(rest)) if _alike(rest[n], block)), None) if waiting else None
        if found is not None:
            places += [(found, one) for one in waiting]
            at = found
        else:
            homeless += [trim_blank_lines(one.source) for one in waiting if _is_writers(one)]
        waiting = []
    homeless += [trim_blank_lines(one.source) for one in waiting if _is_writers(one)]
    for n, block in enumerate(rest):
        carried += [one for where, one in places if where == n]
        carried.append(block)
    return serialize_blocks(settle(rest, carried)), homeless


def _alike(one: Block, other: Block) -> bool:
    if isinstance(one, HeadingBlock) and isinstance(other, HeadingBlock):
        return (one.level, one.title) == (other.level, other.title)
    return type(one) is type(other) and trim_blank_lines(one.source) == trim_blank_lines(other.source)


def _is_writers(block: MetadataBlock) -> bool:
    return bool(block.messages) or any(not key.startswith("~") for key in block.content)
