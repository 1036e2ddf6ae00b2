"""Divs: the fenced divs in a text, at any depth, those in lists included.

The parser keeps a div whole, as text. Knitting has to look inside, since what is
RAG-only, and metadata, may stand anywhere. Native metadata blocks inside divs are
found, too: Pandoc takes them for metadata wherever they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from .blocks import BOM, Attributes, Block, HeadingBlock, MetadataBlock, Problem, parse_attributes
from .listed import is_metadata, listed_tables, mapping_to_paste
from .metadata import parse_metadata
from .parse import NATIVE_CLOSE, NATIVE_OPEN, parse_markdown_text
from .regions import DIV_CLOSE, DIV_OPEN, Regions

_ITEM = re.compile(r"(?:[-*+:~]|\(?[@#]?\w{0,9}[.)]|\[\^[^\]\s]+\]:)[ \t]+(?=\S)")
_HTML_DIV = re.compile(r"<(?:div|section)\b[^<>\n]*?\bclass\s*=\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([\w-]+))", re.I)
_FENCE = re.compile(r"(`{3,}|~{3,})[^`\n]*(?=\n|\Z)")
_QUOTED = re.compile(r"[ ]{0,3}>[ ]?")
_BLANKS = re.compile(r"(?:[ \t]*\r?\n)*")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\r?(?:\n|\Z))")


@dataclass(slots=True)
class Part:
    """A div, or a metadata block, inside a text: `text[start:end]`. `metadata` is the
    mapping of a metadata block, None for any other div; `error` says why one cannot
    be read. `limit` is where the div (or text) around it ends."""

    start: int
    end: int
    limit: int
    indent: int = 0
    attributes: Attributes = field(default_factory=Attributes)
    metadata: dict[str, Any] | None = None
    error: str = ""

    @property
    def is_metadata(self) -> bool:
        """Whether the part is a metadata block, readable or not."""
        return self.metadata is not None or bool(self.error)


def find_parts(text: str) -> list[Part]:
    """The closed divs and the metadata blocks inside divs of a text, in the order
    of their starts. What is not closed is text."""
    if ":::" not in text and not _HTML_DIV.search(text):
        return []
    return _Walker(text).walk()


def parts_by_line(text: str) -> Iterator[tuple[int, Part, str]]:
    """Yield what `find_parts` finds, in block quotes, too, each with its line (from 0) and
    its own text."""
    if _QUOTED.match(text.removeprefix(BOM)) and ":::" in text:
        lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text.removeprefix(BOM))
        yield from parts_by_line("".join(_QUOTED.sub("", line, count=1) for line in lines))
        return
    for part in find_parts(text.removeprefix(BOM)):
        yield text.count("\n", 0, part.start), part, text.removeprefix(BOM)[part.start : part.end]


def cut(text: str, goes: Callable[[Part], bool | None]) -> Iterator[tuple[int, int]]:
    """What has to go of a text: start and end, ordered, not overlapping. `goes` says
    whether a div goes, or (of a metadata block, which goes itself) what it is about."""
    if text.startswith(BOM):
        yield from ((start + 1, end + 1) for start, end in cut(text[1:], goes))
        return
    if _QUOTED.match(text) and ":::" in text:
        yield from _cut_quoted(text, goes)
        return
    done = 0
    for part in find_parts(text):
        verdict = goes(part)
        if part.start < done or not (verdict or part.is_metadata):
            continue
        done = part.end
        if verdict and part.is_metadata:
            done += _about(text, part)
        line = text.rfind("\n", 0, part.start) + 1
        start = line if not text[line : part.start].strip() else part.start
        done = _skip_blank(text, start, done)
        yield start, done


def _cut_quoted(text: str, goes: Callable[[Part], bool | None]) -> Iterator[tuple[int, int]]:
    """The same for a block quote: by lines, without their marks."""
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", text)
    inner = [_QUOTED.sub("", line, count=1) for line in lines]
    outer_at, inner_at = list(accumulate(map(len, lines), initial=0)), list(accumulate(map(len, inner), initial=0))
    for start, end in cut("".join(inner), goes):
        yield outer_at[bisect_left(inner_at, start)], outer_at[bisect_left(inner_at, end)]


def _skip_blank(text: str, start: int, end: int) -> int:
    """Blank lines after what goes go with it, where a blank line, an opening line of
    a div or nothing stands before it; behind a list marker its line end stays."""
    before = text[:start]
    if before and not before.endswith("\n"):
        return end - 1 if text[end - 1 : end] == "\n" else end
    last = before[before.rfind("\n", 0, len(before) - 1) + 1 :] if before else ""
    if last.strip() and not last.lstrip().startswith(":::"):
        return end
    found = _BLANKS.match(text, end)
    return found.end() if found else end


def _about(text: str, part: Part) -> int:
    """How many characters after a metadata block it is about: one block, or a heading
    with its section. Looks no further than it has to."""
    size = 2000
    while True:
        stop = text.rfind("\n", part.end, min(part.end + size, part.limit)) + 1
        whole = part.end + size >= part.limit
        rest = _dedent(text[part.end : part.limit if whole else stop], part.indent)
        problems: list[Problem] = []
        blocks = parse_markdown_text("".join(line for _, line in rest), problems)
        count = _part_length(blocks)
        lines = sum(block.source.count("\n") for block in blocks[:count])
        sure = count + 1 < len(blocks) and not any(problem.line <= lines for problem in problems)
        if whole or sure:
            return sum(len(indent) + len(line) for indent, line in rest[:lines])
        size *= 4


def _part_length(blocks: list[Block]) -> int:
    """How many blocks the part has that a list of blocks begins with."""
    at = 0
    while at < len(blocks) and isinstance(blocks[at], MetadataBlock):
        at += 1
    first = blocks[at] if at < len(blocks) else None
    at += 1
    while at < len(blocks) and isinstance(first, HeadingBlock):
        block = blocks[at]
        if isinstance(block, HeadingBlock) and block.level <= first.level:
            break
        at += 1
    return at


def _dedent(text: str, indent: int) -> list[tuple[str, str]]:
    """The lines of a text, what is cut from each before it; a line that stands
    further left than `indent` ends the text."""
    lines: list[tuple[str, str]] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        bare = line.lstrip(" \t")
        width = min(len(line) - len(bare), indent)
        if width < indent and bare.strip():
            break
        lines.append((line[:width], line[width:]))
    return lines


class _Walker:
    """Goes through a text line by line; knows the divs that are open and how far the
    list items around a line are indented."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.regions = Regions(text)
        self.parts: list[Part] = []
        self.open: list[Part] = []
        self.inside: list[list[Part]] = [[]]  # parts that stand directly in each open div
        self.items: list[int] = []

    def walk(self) -> list[Part]:
        """All parts."""
        pos, free = 0, True
        while pos < len(self.text):
            pos, free = self._line(pos, free)
        unclosed = {id(part) for part in self.open}  # text
        return [part for part in self.parts if id(part) not in unclosed]

    def _line(self, pos: int, free: bool) -> tuple[int, bool]:
        """Take in the line at `pos`; `free` says that no paragraph goes on with it.
        Returns the position after what was read, and whether it is free there."""
        end = self.regions.line_end(pos)
        line = self.text[pos:end]
        if not line.strip(BOM + " \t\r\n"):
            return end, True
        at, base, free = self._content(line, free)
        if at - base > 3 and free:
            return end, True  # indented code
        if region := self._region(pos, pos + at, line[at:]):
            return region, True
        if found := _HTML_DIV.match(line, at):
            self._html_div(pos + at, (found[1] or found[2] or found[3]).split())
        if line.startswith(":::", at):
            return end, self._div(pos, pos + at, end, line[at:], free)
        if free and self.open and not at and (block := self._native(pos)):
            return block, True
        return end, bool(_HEADING.match(line))

    def _content(self, line: str, free: bool) -> tuple[int, int, bool]:
        """Where a line's content begins behind indentation and list markers, and how
        far the items around it are indented."""
        at = len(line) - len(line.lstrip(" \t"))
        if free:
            self.items = [item for item in self.items if item <= at]
        base = self.items[-1] if self.items else 0
        while at - base <= 3 and (marker := _ITEM.match(line, at)):
            at = base = marker.end()
            self.items.append(min(at, 4) if marker[0][0] in ":~[" else at)
            free = True
        return at, base, free

    def _region(self, pos: int, at: int, line: str) -> int | None:
        """End of the code, comment, HTML or environment that the line opens."""
        if at > pos and (fence := _FENCE.match(line)):
            close = re.compile(rf"\n[ \t]*{re.escape(fence[1])}[`~]*[ \t]*\r?(?=\n|\Z)")
            found = close.search(self.text, self.regions.line_end(at) - 1)
            return self.regions.line_end(found.end()) if found else None
        if line.startswith(("<div", "</div", "<section", "</section")):
            return None
        return self.regions.end(pos)

    def _div(self, pos: int, at: int, end: int, line: str, free: bool) -> bool:
        if DIV_CLOSE.match(line):
            if self.open:
                self._close(self.open.pop(), pos, end)
            return True
        opened = DIV_OPEN.match(line)
        indent = at - pos
        if not opened or not free or (not self.items and indent):
            return False
        part = Part(at, end, len(self.text), indent, parse_attributes(opened["attributes"]))
        self._add(part)
        self.open.append(part)
        self.inside.append([])
        return True

    def _add(self, part: Part) -> None:
        self.parts.append(part)
        self.inside[-1].append(part)

    def _close(self, part: Part, pos: int, end: int) -> None:
        part.end = end
        for inner in self.inside.pop():
            inner.limit = pos
        if "lmm" in part.attributes.classes:
            source = "".join(line for _, line in _dedent(" " * part.indent + self.text[part.start : end], part.indent))
            block = parse_markdown_text(source)[0] if source else None
            part.metadata = block.content if isinstance(block, MetadataBlock) else None
            part.error = getattr(block, "message", "") if part.metadata is None else ""
            while self.parts[-1] is not part:
                self.parts.pop()

    def _html_div(self, at: int, classes: list[str]) -> None:
        """An HTML element that Pandoc takes for a div of these classes."""
        end = self.regions.end(at)
        if end is not None:
            self._add(Part(at, end, len(self.text), attributes=Attributes("", classes)))

    def _native(self, pos: int) -> int | None:
        """End of the native metadata block that the line opens; it becomes a part."""
        opened = NATIVE_OPEN.match(self.text, pos)
        closed = NATIVE_CLOSE.search(self.text, opened.end() - 1) if opened else None
        if not opened or not closed:
            return None
        body = self.text[opened.end() : closed.start() + 1]
        content = parse_metadata(body).content
        tables = listed_tables(body) if content is None else []
        if content is None and not is_metadata(tables):
            return None
        error = mapping_to_paste(tables, "---") if tables else ""
        self._add(Part(pos, closed.end(), len(self.text), metadata=content, error=error))
        return closed.end()
