"""Comments that are meant as metadata blocks and are none: nobody sees them, neither reader nor writer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...markdown.blocks import Block, ErrorBlock, TextBlock, source_line
from ...markdown.metadata.body import parse_metadata
from ...markdown.metadata.keys import is_block_key
from ...markdown.parse import COMMENT_OPEN
from .finding import Finding
from .stray_marks import ReadParts, is_indented_code, item_starts, lines_of_comments, read_parts
from .unreadable import signs_in

_NEARLY = re.compile(r"<!-{2,}[ \t]*(?P<word>[A-Za-z]{2,4})\b[ \t:]*")
_NAMES = frozenset({"lmm", "llm", "lm", "lmmm", "lrm"})
_BEFORE = re.compile(r"^[ \t>]*", re.M)
_NOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:|[ ]{0,2}[:~][ ]")  # a footnote or a definition
_REACH = 1000  # lines above a comment in which the list item that it stands in begins

UNDER_TEXT = "a metadata comment needs a blank line before it: it is read as text"
INDENTED = "a metadata comment stands at the start of its line (in a list, where the item's text begins)"
NOT_CLOSED = "a metadata comment starts here and is not closed: add a line `-->`"
NEARLY = (
    "this comment is not read as metadata: write a line `<!-- lmm` and nothing else in it, the YAML below it, and "
    "a line `-->`"
)


def find_comment_marks(blocks: Sequence[Block], read: ReadParts = read_parts) -> Iterator[Finding]:
    """Yield the comments in the texts of a document that are not read as metadata, and are probably meant so."""
    for block in blocks:
        if isinstance(block, TextBlock) and not isinstance(block, ErrorBlock) and "<!--" in block.source:
            yield from _in_text(block.source, source_line(block), read)


def _in_text(source: str, first: int, read: ReadParts) -> Iterator[Finding]:
    lines = source.split("\n")
    taken: set[int] = set()
    for line, part, text in read(source):
        if part.metadata is not None or part.error:
            taken.update(range(line, line + len(text.splitlines())))
    for number, end in lines_of_comments(lines):
        if number not in taken and not _is_code(lines, number) and (found := _misread(lines, number, end)):
            code, message = found
            yield Finding(first + number, code, message, signs_in("\n".join(lines[number + 1 : end + 1])))


def _is_code(lines: Sequence[str], number: int) -> bool:
    """Return True if a line belongs to indented code, in a list item too, which needs four columns more."""
    return is_indented_code(lines, number) and _column(lines[number]) - _item_column(lines, number) >= 4


def _item_column(lines: Sequence[str], number: int) -> int:
    """Return the column at which the text of the item, footnote or definition around a line begins; else 0."""
    at = _column(lines[number])
    for place in range(number - 1, max(number - _REACH, 0) - 1, -1):
        line = lines[place].expandtabs(4)
        starts = [4] if _NOTE.match(line) else item_starts(line)
        if starts and _column(line) < at:
            return max((start for start in starts if start <= at), default=starts[0])
        if line.strip() and not _column(line) and not (place and lines[place - 1].strip()):
            break
    return 0


def _column(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip(" "))


def _misread(lines: Sequence[str], number: int, end: int) -> tuple[str, str] | None:
    """Return code and message about the comment in some lines, or None if it is no metadata."""
    line = lines[number][lines[number].find("<!--") :]
    if COMMENT_OPEN.match(line + "\n"):
        if end == len(lines):
            return "unreadable-block", NOT_CLOSED
        above = lines[number - 1].strip("> \t\r\ufeff") if number else ""
        return "no-blank-line", UNDER_TEXT if above else INDENTED
    found = _NEARLY.match(line)
    if found is None or found["word"].lower() not in _NAMES:
        return None
    text = "\n".join([line[found.end() :], *lines[number + 1 : end + 1]]).partition("-->")[0]
    return ("near-miss", NEARLY) if _holds_metadata(_BEFORE.sub("", text)) else None


def _holds_metadata(text: str) -> bool:
    parsed = parse_metadata(text.strip() + "\n")
    keys = parsed.content or {}
    return bool(parsed.messages) or any(map(is_block_key, keys))
