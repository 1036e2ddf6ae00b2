"""Lines that are meant as a native metadata block and are none, so that what they leave out would be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...markdown.blocks import Block, is_text, source_line
from ...markdown.metadata.body import parse_metadata
from ...markdown.metadata.keys import ABOUT_TEXT, DECIDING, POSITIONAL
from .finding import Finding
from .stray_marks import ReadParts, is_indented_code, lines_outside_code, read_parts

# Keys that decide what is shown count between any rules, others directly below or above one.
_KEYS = sorted(key for key in ABOUT_TEXT | POSITIONAL if key.isalpha())
_KEY = re.compile(rf"^[ \t>]*~?(?P<key>{'|'.join(_KEYS)})=?[ \t]*(?P<sign>[:=])(?P<rest>[^\n]*)", re.M)
_PREFIX = re.compile(r"[ \t>]*")
_RULE = re.compile(
    r"(?:(?P<sign>[-*_=~+\u2010-\u2015\u2212])(?P=sign)*|[-*_](?:[ \t][-*_])+|[-\u2010-\u2015]+|\.\.\.)$"
)
_ENTRY = re.compile(r"[\w~-]+=?[ \t]*[:=]")
_TIGHT = re.compile(r"^(\s*[\w~]+=?):(?=[^\s:/])", re.M)

EQUALS = "`{key} =` is not read: a key ends with a colon (`{key}: …`)"
NO_BLANK = "`{key}:{rest}` is not read: a blank is needed after the colon (`{key}: {rest}`)"
NO_BLOCK = (
    "`{key}:` stands in no block and is read as text: a block begins with a line `---`, at the start of its line, "
    "after an empty line and with none below it, and ends with a line `---`"
)


def find_false_blocks(
    blocks: Sequence[Block], allowed: frozenset[str], read: ReadParts = read_parts
) -> Iterator[Finding]:
    """Yield the keys of ours that stand between rules of any kind, and in no block. allowed: keys that are meant."""
    for line, text in _texts(blocks):
        if not allowed.issuperset(found["key"] for found in _KEY.finditer(text)):
            yield from _in_text(text, line, read)


def _texts(blocks: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yield the texts between the metadata blocks and headings, each with its first line: a rule and the lines
    below it may be two blocks."""
    first, parts = 0, list[str]()
    for block in [*blocks, Block("")]:
        if is_text(block):
            first = first if parts else source_line(block)
            parts.append(block.source)
        elif parts:
            yield first, "".join(parts)
            parts = []


def _in_text(text: str, first: int, read: ReadParts) -> Iterator[Finding]:
    taken: set[int] = set()
    for start, part, source in read(text):
        if part.metadata is not None or part.error:
            taken.update(range(start, start + len(source.splitlines())))
    lines = text.split("\n")
    outside = {number for number, _ in lines_outside_code(lines)} - taken
    bare = [_PREFIX.sub("", line, count=1).rstrip() if at in outside else "```" for at, line in enumerate(lines)]
    done = 0
    for number in sorted(outside):
        if number < done or not _KEY.match(lines[number]) or is_indented_code(lines, number):
            continue
        start, done = _around(bare, number)
        is_under_text = start > 1 and lines[start - 1].rstrip() == "---" and bool(bare[start - 2])
        if not is_under_text and (finding := _explain(bare, start, done)):  # see `unread_messages`
            at, message = finding
            yield Finding(first + at, "near-miss", message)


def _around(bare: Sequence[str], number: int) -> tuple[int, int]:
    """Return the first line, and the line after the last, of those around a line that are neither blank nor rules."""
    start = end = number
    while start and bare[start - 1] and not _RULE.match(bare[start - 1]):
        start -= 1
    while end < len(bare) and bare[end] and not _RULE.match(bare[end]):
        end += 1
    return start, end


def _explain(bare: Sequence[str], start: int, end: int) -> tuple[int, str] | None:
    """Return the line of a key in some lines, and why it is not read; None if they are no metadata between rules."""
    above = next((at for at in range(start - 1, -1, -1) if bare[at]), None)
    below = next((at for at in range(end, len(bare)) if bare[at]), None)
    if above is None or below is None or not _RULE.match(bare[above]) or not _RULE.match(bare[below]):
        return None
    at, found = next((at, found) for at in range(start, end) if (found := _KEY.match(bare[at])))
    is_adjacent = above == start - 1 or below == end
    is_open = above == start - 1 and bare[above] == "---"
    if found["sign"] == "=":
        is_block = is_open and all(map(_ENTRY.match, bare[start:end]))
        return (at, EQUALS.format(key=found["key"])) if is_block else None
    if not (is_adjacent or found["key"] in DECIDING):
        return None
    if parse_metadata(_TIGHT.sub(r"\1: ", "\n".join(bare[start:end])) + "\n").content is None:
        return None
    if is_open and found["rest"][:1].strip():
        return at, NO_BLANK.format(key=found["key"], rest=found["rest"].strip())
    return at, NO_BLOCK.format(key=found["key"])
