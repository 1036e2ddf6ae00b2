"""Questions, messages and edits (`?:`, `+:`, `=:`) that are not read, because they stand in no block
or in one that is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...markdown.blocks import Block, ErrorBlock, MetadataBlock, TextBlock, source_line
from ...markdown.metadata.body import Parsed, looks_like_key, parse_metadata, split_messages
from ...markdown.metadata.keys import is_block_key
from ...markdown.parse import DIV_UNDER_TEXT, NOT_CLOSED, is_metadata_div
from ...markdown.regions import without_code
from .finding import Finding
from .stray_marks import ReadParts, lines_outside_code, read_parts
from .unreadable import signs_in

_STRAY = re.compile(r"[ ]{0,3}(?P<sign>[?+=]):(?:[ \t]+\S|[^\W\d_])")
# YAML's `? key`, and in the line below it `: value`
_KEY = re.compile(r"^(?P<indent>[ \t]*)\?[ \t]+\S[^\n]*(?P<value>\n[ \t]*:(?:[ \t]|\r?$))?", re.M)
_INDENT = re.compile(r"\s*?^([ \t]*)\S", re.M)
_TIGHT = re.compile(r"\?:?[^\s:?]")
_TABLE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*\r?$", re.M)

NO_BLOCK = (
    "`{sign}:` stands in no block and is read as text: put it between two lines `---`, the first of them after "
    "an empty line and with none below it"
)
NO_COLON = "a question begins with `?:` and a blank; as it stands, it is not read"
UNDER_TEXT = "a metadata block needs an empty line before it: it is read as text"


def find_unread_messages(blocks: Sequence[Block], read: ReadParts = read_parts) -> Iterator[Finding]:
    """Yield what a writer asks in a document and nobody reads, and native blocks directly under a text."""
    for block in blocks:
        first = source_line(block)
        if isinstance(block, MetadataBlock):
            yield from _without_colon(block.source, first)
        elif isinstance(block, TextBlock) and not isinstance(block, ErrorBlock):
            yield from _in_text(block.source, first, read)


def _without_colon(source: str, first: int) -> Iterator[Finding]:
    """Yield the lines `? question` of a block: a key without a value, to YAML."""
    source = split_messages(source)[1] if "?" in source else ""
    indent = _INDENT.match(source)
    for found in _KEY.finditer(source):
        if found["value"] is None and indent and found["indent"] == indent[1]:
            yield Finding(first + source.count("\n", 0, found.start()), "no-colon", NO_COLON, "?")


def _in_text(source: str, first: int, read: ReadParts) -> Iterator[Finding]:
    if not any(sign in source for sign in ("?", "+:", "=:", "\n---", ":::")):
        return
    lines = source.split("\n")
    taken: set[int] = set()  # lines of blocks, and of what is reported
    for line, part, text in read(source) if any(sign in source for sign in (":::", "---", "<!--")) else ():
        if part.metadata is not None:
            yield from _without_colon(text, first + line)
        if part.metadata is not None or part.error:
            taken.update(range(line, line + len(text.splitlines())))
    outside = [number for number, _ in lines_outside_code(lines)]
    for number in outside:
        if number not in taken and (found := _would_be_block(lines, number)):
            taken.update(range(number, found.end))
            yield Finding(first + number, found.code, found.message, found.asks)
    yield from _stray(source, lines, [number for number in outside if number not in taken], first)


class _NoBlock(NamedTuple):
    """Lines that look like a metadata block and are none. end: the line after them."""

    end: int
    code: str
    message: str
    asks: str


def _would_be_block(lines: Sequence[str], start: int) -> _NoBlock | None:
    """Return what is wrong with the block that seems to begin at a line, or None if none seems to."""
    is_under_text = start > 0 and bool(lines[start - 1].strip("\ufeff \t\r"))
    if lines[start].startswith(":::") and is_metadata_div(lines[start]):
        end = _next(lines, start, lambda line: line.startswith(":::"))
        code, message = ("no-blank-line", DIV_UNDER_TEXT) if is_under_text else ("not-closed", NOT_CLOSED)
        return _NoBlock(end + 1, code, message, signs_in("\n".join(lines[start:end])))
    if lines[start].rstrip() != "---" or start + 1 == len(lines) or not lines[start + 1].strip():
        return None
    end = _next(lines, start, lambda line: line.rstrip() in ("---", "..."))
    if is_under_text:
        return _native_under_text(lines, start, end)
    body = "\n".join([*lines[start + 1 : end], ""])
    if end < len(lines):
        return _NoBlock(end + 1, "no-colon", NO_COLON, "?") if _TIGHT.match(body) else None
    end = _next(lines, start, lambda line: not line.strip())
    return (
        _NoBlock(end, "not-closed", NOT_CLOSED, signs_in("\n".join(lines[start:end]))) if looks_like_key(body) else None
    )


def _native_under_text(lines: Sequence[str], start: int, end: int) -> _NoBlock | None:
    """Return what is wrong with lines between `---` directly under a text; None if they hold no key of ours."""
    body = "\n".join([*lines[start + 1 : end], ""])
    parsed = parse_metadata(body) if end < len(lines) else Parsed()
    keys = [key for key in parsed.content or {} if is_block_key(key)]
    return _NoBlock(end + 1, "no-blank-line", UNDER_TEXT, signs_in(body)) if parsed.messages or keys else None


def _next(lines: Sequence[str], start: int, wanted: Callable[[str], bool]) -> int:
    """Return the next line after `start` that is wanted, or the number of lines."""
    return next((at for at in range(start + 1, len(lines)) if wanted(lines[at])), len(lines))


def _stray(source: str, lines: Sequence[str], numbers: Sequence[int], first: int) -> Iterator[Finding]:
    """Yield the lines that begin like a question, message or edit; but not in code spans and tables."""
    candidates = [number for number in numbers if _STRAY.match(lines[number])]
    if not candidates:
        return
    prose, has_table = without_code(source), _TABLE.search(source) is not None
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for number in candidates:
        found = _STRAY.match(lines[number])
        if found and not prose[starts[number] + found.start("sign")].isspace() and not (
            has_table and "|" in lines[number]
        ):  # fmt: skip
            yield Finding(first + number, "no-block", NO_BLOCK.format(sign=found["sign"]), found["sign"])
