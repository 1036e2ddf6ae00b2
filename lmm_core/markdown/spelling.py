"""Make, edit, convert and remove metadata blocks in their three spellings, with their blank lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ..errors import MarkdownError
from .blocks import (
    BOM,
    Block,
    HeaderBlock,
    MetadataBlock,
    Spelling,
    TextBlock,
    blank,
    ends_blank,
    newline_of,
    prefix_block,
    serialize_blocks,
    trim_blank_lines,
)
from .metadata.body import CLOSED, edit_metadata, parse_metadata
from .parse import parse_markdown_text

_RUN = re.compile(r"`+|~+")
_NATIVE_MARK = re.compile(r"^(?:---|\.\.\.)", re.M)
_REMARK = re.compile(r"---[ \t]+(#[^\r\n]*)")


def make_block(body: str, spelling: Spelling, newline: str = "\n", header: bool = False) -> MetadataBlock:
    """Return a new metadata block, with line 0 and a blank line after it.

    A comment cannot contain `--`: a div is written instead.
    """
    if spelling == "comment" and CLOSED in body:
        spelling = "div"
    head, tail = _markers(body, spelling, newline)
    parsed = parse_metadata(body)
    kind = HeaderBlock if header else MetadataBlock
    return kind(
        head + body + tail + newline, 0, parsed.content or {}, parsed.messages, spelling,
        len(head), len(head) + len(body),
    )  # fmt: skip


def _markers(body: str, spelling: Spelling, newline: str) -> tuple[str, str]:
    if spelling == "native":
        return f"---{newline}", f"---{newline}"
    if spelling == "comment":
        return f"<!-- lmm{newline}", f"-->{newline}"
    fence = fence_for(body)
    return f"::: {{.lmm .content-hidden}}{newline}{fence} yaml{newline}", f"{fence}{newline}:::{newline}"


def edit_block(
    block: MetadataBlock, changes: dict[str, Any], flow: frozenset[str] = frozenset(), stays: bool = False
) -> MetadataBlock | None:
    """Return a block with changed keys, or None if it becomes empty.

    changes: new values, or `DELETED` to remove a key
    flow: keys to write on one line
    stays: True to escape `--` in a comment, instead of making it a div
    Raise MarkdownError if the block cannot be edited.
    """
    closed = stays and block.spelling == "comment"
    body = edit_metadata(block.body, changes, newline_of(block.source), flow, closed)
    return None if blank(body) else with_body(block, body)


def with_body(block: MetadataBlock, body: str) -> MetadataBlock:
    """Return a block with another body. A comment becomes a div if the body has more `--` than before."""
    if block.spelling == "comment" and body.count(CLOSED) > block.body.count(CLOSED):
        return _respell(block, body, "div")
    head, tail = block.source[: block.start], block.source[block.end :]
    if block.spelling == "div":
        head, tail = _longer_fence(head, body, tail)
    parsed = parse_metadata(body)
    return replace(
        block,
        source=head + body + tail,
        start=len(head),
        end=len(head) + len(body),
        content=parsed.content or {},
        messages=parsed.messages,
    )


def _longer_fence(head: str, body: str, tail: str) -> tuple[str, str]:
    fence = _RUN.findall(head)[-1]
    closes = re.search(rf"^ {{0,3}}{fence}", body, re.M)
    return _refence(head, fence_for(body, fence[0]), tail) if closes else (head, tail)


def _refence(head: str, fence: str, tail: str) -> tuple[str, str]:
    at = list(_RUN.finditer(head))[-1]
    return head[: at.start()] + fence + head[at.end() :], _RUN.sub(fence, tail, count=1)


def fence_for(body: str, sign: str = "`") -> str:
    """Return a code fence longer than any run of its sign in a text."""
    return sign * max(3, 1 + max((len(run) for run in _RUN.findall(body) if run[0] == sign), default=0))


def convert(blocks: Sequence[Block], to: Spelling) -> list[Block]:
    """Return the blocks with all metadata blocks in one spelling.

    The header stays native; blocks that native markers cannot hold, or that would become the header, stay unchanged.
    A body with `--` becomes a div, or stays in its comment. Raise MarkdownError as `settle_safely`.
    """
    converted = [
        _convert_block(block, to) if isinstance(block, MetadataBlock) and not _stays(block, to, at) else block
        for at, block in enumerate(blocks)
    ]
    return settle_safely(blocks, converted)


def settle_safely(before: Sequence[Block], after: Sequence[Block]) -> list[Block]:
    """Return the blocks of `settle`. Raise MarkdownError if their text would be parsed into other blocks."""
    settled = settle(before, after)
    if [block.source for block in settled] == [block.source for block in before] or keeps_structure(settled):
        return settled  # unchanged text needs no parsing
    raise MarkdownError("a code fence or a comment is not closed, and a new metadata block would close it: close it")


def keeps_structure(blocks: Sequence[Block]) -> bool:
    """Return True if the blocks' text parses into the same blocks."""
    reparsed = parse_markdown_text(serialize_blocks(blocks))
    filled = [block for block in blocks if block.source]
    return len(reparsed) == len(filled) and all(
        type(parsed) is type(expected) and trim_blank_lines(parsed.source) == trim_blank_lines(expected.source)
        for parsed, expected in zip(reparsed, filled, strict=True)
    )


def _stays(block: MetadataBlock, to: Spelling, at: int) -> bool:
    if isinstance(block, HeaderBlock):
        return _remark(block) is None
    if block.spelling == to and block.source == _convert_block(block, to).source:
        return True
    if to == "comment":
        return block.spelling == "comment" and CLOSED in block.body
    if to == "div":
        return False
    lines = block.body.split("\n", 1)
    return at == 0 or not block.body or blank(lines[0]) or bool(_NATIVE_MARK.search(block.body))


def _convert_block(block: MetadataBlock, to: Spelling) -> MetadataBlock:
    remark = _remark(block)
    body = (remark + newline_of(block.source) if remark else "") + block.body
    return _respell(block, body, "native" if isinstance(block, HeaderBlock) else to)


def _respell(block: MetadataBlock, body: str, to: Spelling) -> MetadataBlock:
    newline = newline_of(block.source)
    tail = block.source[block.end :]
    blanks = tail[len(tail.rstrip(" \t\r\n")) :].split("\n", 1)
    respelled = make_block(body, to, newline, isinstance(block, HeaderBlock))
    source = respelled.source.removesuffix(newline) + (blanks[1] if len(blanks) > 1 else "")
    lead = block.source[: len(block.source) - len(block.source.lstrip(BOM + " \t\r\n"))]
    return replace(cast(MetadataBlock, prefix_block(replace(respelled, source=source), lead)), line=block.line)


def _remark(block: MetadataBlock) -> str | None:
    match = _REMARK.match(block.source.lstrip(BOM + " \t\r\n"))
    return match[1] if match and block.spelling == "native" else None


def settle(before: Sequence[Block], after: Sequence[Block]) -> list[Block]:
    """Return `after`, which was edited from `before`, with the blank lines that it needs.

    A new metadata block has one blank line after itself, or before the next block if that had none, so that
    `take_out` can remove it. Others are added before a native block below a heading or block (Pandoc's rule), around
    converted blocks, and between blocks that a removed one separated.
    """
    places = _Places(before)
    settled: list[Block] = []
    for block in after:
        previous = settled[-1] if settled else None
        if previous is not None and not ends_blank(previous.source) and not blank(block.source[:1]):
            newline = newline_of(previous.source)
            if _is_new(block) and places.place(block) is None:
                block = prefix_block(replace(block, source=_without_line(block.source)), newline)
            elif places.need_blank(previous, block):
                block = prefix_block(block, newline)
        settled.append(block)
    if before and before[0].source.startswith(BOM) and len(settled) > 1 and settled[1] is before[0]:
        settled[:2] = [prefix_block(settled[0], BOM), _without_mark(settled[1])]
    return settled


class _Places:
    def __init__(self, before: Sequence[Block]) -> None:
        self._by_id = {id(block): at for at, block in enumerate(before)}
        metadata = ((at, block) for at, block in enumerate(before) if isinstance(block, MetadataBlock))
        self._by_line = {(block.line, _opening(block)): at for at, block in metadata if not _is_new(block)}

    def place(self, block: Block) -> int | None:
        """Return the original index of a block, or None if it is new or was converted."""
        if id(block) in self._by_id or not isinstance(block, MetadataBlock):
            return self._by_id.get(id(block))
        return self._by_line.get((block.line, _opening(block)))

    def need_blank(self, previous: Block, block: Block) -> bool:
        if not previous.source.endswith("\n"):  # formerly the last block
            return True
        if isinstance(previous, MetadataBlock) and self.place(previous) is None:
            return not _is_new(previous)
        if isinstance(block, MetadataBlock):
            return self.place(block) is None or (block.spelling == "native" and id(block) not in self._by_id)
        if not isinstance(block, TextBlock):
            return False
        if isinstance(previous, MetadataBlock) and self.place(block) is None:
            return True
        places = self.place(previous), self.place(block)
        return (places[1] or 0) - (-1 if places[0] is None else places[0]) > 1


def _is_new(block: Block) -> bool:
    return isinstance(block, MetadataBlock) and block.line == 0


def _opening(block: MetadataBlock) -> str:
    return _RUN.sub("", block.source[: block.start].lstrip(BOM + " \t\r\n"))


def _without_line(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _without_blank(text: str) -> str:
    return _without_line(text) if text.endswith(("\n\n", "\n\r\n")) else text


def take_out(
    blocks: Sequence[Block],
    edited: Mapping[int, MetadataBlock | None] | Mapping[int, None],
    tight: Collection[int] = (),
) -> tuple[list[Block], list[Block]]:
    """Return the blocks after applying `edited` (by `id`), which removes a block by None.

    Removed blocks take their blank line along (see `settle`), and the line before them if in `tight`. The second list
    holds blocks that stay, since without them the next one would be parsed differently. Raise MarkdownError if the
    text does not parse into the remaining blocks.
    """
    remaining: list[Block] = []
    stayed: list[Block] = []
    going: list[MetadataBlock] = []
    for block in (*blocks, None):
        current = edited.get(id(block), block)
        if current is None and isinstance(block, MetadataBlock):
            going.append(block)
            continue
        before = remaining[-1].source if remaining else ""
        joined = _left_before(before, going, current) if going else before
        if joined is None:
            stayed += going
            remaining += going
        elif current is not None and id(block) in tight and is_parsed_alike(_without_blank(joined), current):
            joined = _without_blank(joined)
        going = []
        _join(remaining, joined, current)
    if not keeps_structure(remaining):
        raise MarkdownError("the metadata blocks cannot be removed: the text would be read differently without them")
    return remaining, stayed


def _join(blocks: list[Block], before: str | None, block: Block | None) -> None:
    """Append a block; `before` replaces the source before it."""
    if before is not None and blocks:
        blocks[-1] = replace(blocks[-1], source=before) if before != blocks[-1].source else blocks[-1]
    elif before:
        block = prefix_block(block, before) if block is not None else TextBlock(before)
    blocks += [block] if block is not None else []


def _left_before(before: str, going: Sequence[MetadataBlock], following: Block | None) -> str | None:
    """Return the text before removed blocks, or None if they have to stay."""
    for block in going:
        before += block.source[: len(block.source) - len(block.source.lstrip(BOM + " \t\r\n"))]
        closing = block.source[block.end :].rstrip(" \t\r\n")
        end = block.source.find("\n", block.end + len(closing)) + 1
        after = block.source[end:] if end else ""
        before = before + after[after.find("\n") + 1 :] if after else _without_blank(before)
    choices = (before, before + newline_of(going[-1].source))
    return next((choice for choice in choices if following is None or is_parsed_alike(choice, following)), None)


def is_parsed_alike(before: str, following: Block) -> bool:
    """Return True if a block that follows a text is still parsed as its type."""
    at = 0
    for block in parse_markdown_text(before + following.source):
        if at == len(before) or blank(before.removeprefix(BOM)):
            return type(block) is type(following)
        at += len(block.source)
    return False


def _without_mark(block: Block) -> Block:
    if isinstance(block, MetadataBlock):
        return replace(block, source=block.source[1:], start=block.start - 1, end=block.end - 1)
    return replace(block, source=block.source[1:])
