"""Views of the text in a container, without marks and indentation, as Pandoc reads them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from .blocks import BOM
from .regions import CONTAINERS, Regions, split_fences, without_code

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_TAB = 4  # columns
GAP = "\n"  # a line of the view that is not in the text
_QUOTE = re.compile(r"[ ]{0,3}>[ ]?")
_ROMAN = "[ivxlcdm]+|[IVXLCDM]+"
_ITEM = re.compile(
    rf"[ ]{{0,3}}(?:[-*+]|(?:\d{{1,9}}|#|@[\w-]*|[a-zA-Z]|{_ROMAN})[.)]|\((?:\d{{1,9}}|#|@[\w-]*|[a-zA-Z]|{_ROMAN})\))"
    r"(?:[ ]+|(?=\r?\n|\Z))"
)
_FENCE_IN = re.compile(r"[ ]{1,3}(?=:::)")
_RULE = re.compile(r"[ ]{0,3}([-*_])(?:[ ]*\1){2,}[ ]*\r?(?:\n|\Z)")
_NOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:[ ]*")
_DEFINITION = re.compile(r"[ ]{0,2}[:~][ ]+")
_STOP = re.compile(r":{3,}[ \t]*\r?(?:\n|\Z)|[ ]{0,3}(?:```|~~~|</)")
# compiled on first use, since few texts have elements
_TAG = rf"(?i:<(?P<close>/?)(?P<name>{'|'.join(sorted(CONTAINERS))})(?=[\s/>])(?P<inside>[^<>]*)>)"


class ViewLine(NamedTuple):
    """A line of a view.

    at: position in the whole text
    whole_start: start of a cut of the whole line, behind an item's mark
    """

    text: str
    at: int
    whole_start: int
    is_gap: bool = False


class Tag(NamedTuple):
    """An HTML element; `start` and `content_start` span its opening tag, `close` and `end` the closing one."""

    name: str
    attributes: str
    start: int
    content_start: int
    close: int | None = None
    end: int | None = None


@dataclass
class View:
    """The lines of a container, `depth` containers deep."""

    lines: list[ViewLine]
    depth: int = 0
    text: str = field(init=False)
    starts: list[int] = field(init=False)
    regions: Regions = field(init=False)
    _tags: dict[int, Tag] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.text = "".join(line.text for line in self.lines)
        self.starts = list(accumulate((len(line.text) for line in self.lines), initial=0))
        self.regions = Regions(self.text)

    @classmethod
    def of_text(cls, text: str) -> View:
        """Return the view of a whole text, without its byte-order mark."""
        lead = len(BOM) if text.startswith(BOM) else 0
        return cls([ViewLine(line[0], line.start(), line.start()) for line in _LINE.finditer(text, lead)])

    def number(self, pos: int) -> int:
        """Return the index of the line at a position."""
        return min(bisect_right(self.starts, pos), len(self.lines)) - 1

    def outer(self, pos: int) -> int:
        """Return a position in the whole text."""
        at = self.number(pos)
        return self.lines[at].at + pos - self.starts[at]

    def outer_start(self, pos: int) -> int:
        """Return a cut's start in the whole text, before marks and blanks."""
        at = self.number(pos)
        line = self.lines[at]
        return line.whole_start if not line.text[: pos - self.starts[at]].strip() else self.outer(pos)

    def outer_end(self, pos: int) -> int:
        """Return a cut's end in the whole text, before the next line's marks."""
        while pos and self.lines[self.number(pos - 1)].is_gap:
            pos -= len(GAP)
        return self.outer(pos - 1) + 1 if pos else self.outer(0)

    def part(self, start: int, end: int) -> View:
        """Return the view between two positions."""
        lines = []
        first = self.number(start)
        for at in range(first, self.number(max(end - 1, start)) + 1):
            line, low = self.lines[at], max(start - self.starts[at], 0)
            text = line.text[low : end - self.starts[at]]
            lines.append(ViewLine(text, line.at + low, line.whole_start if not low else line.at + low))
        return View([line for line in lines if line.text], self.depth + 1)

    def container(self, at: int) -> tuple[View, int] | None:
        """Return the view of the container on a line, and the next line's index."""
        line = _expand(self.lines[at])
        if _QUOTE.match(line.text):
            lines = list(self._quoted(at))
            return View(lines, self.depth + 1), at + len(lines)
        if (match := _ITEM.match(line.text)) and not _RULE.match(line.text):
            return self._item(at, line, match)
        for mark in (_NOTE, _DEFINITION):
            if (match := mark.match(line.text)) and (at or mark is _NOTE):
                lines = list(self._indented(at, _cut(line, match.end(), marked=True), _TAB, mark))
                return View(lines, self.depth + 1), at + len(lines)
        return None

    def _item(self, at: int, line: ViewLine, match: re.Match[str]) -> tuple[View, int]:
        width = _item_width(match)
        first = _cut(line, min(width, len(line.text.rstrip("\r\n"))), marked=True)
        lines = list(self._indented(at, first, width, _ITEM))
        return View(list(_set_lists_apart(lines)), self.depth + 1), at + len(lines)

    def _quoted(self, at: int) -> Iterator[ViewLine]:
        first = at
        while at < len(self.lines):
            line = _expand(self.lines[at])
            mark = _QUOTE.match(line.text)
            if not mark and (not line.text.strip() or _STOP.match(line.text) or at == first):
                return
            yield _cut(line, mark.end()) if mark else line
            at += 1

    def _indented(self, at: int, first: ViewLine, width: int, mark: re.Pattern[str]) -> Iterator[ViewLine]:
        """Yield the lines of an item indented by `width` columns, lazy ones included."""
        yield first
        blanks: list[ViewLine] = []
        starts = bool(first.text.strip())
        inner = _inner_width(first.text, 0)
        for line in map(_expand, self.lines[at + 1 :]):
            indent = len(line.text) - len(line.text.lstrip(" "))
            if not line.text.strip():
                blanks.append(line)
                continue
            inside = indent >= width
            lazy = starts and not blanks and not (_STOP.match(line.text) or mark.match(line.text))
            if not inside and not lazy:
                return  # blank lines before it are outside
            yield from (_cut(blank, min(width, len(blank.text.rstrip("\r\n")))) for blank in blanks)
            blanks = []
            starts = True
            if inside:
                line = _cut(line, width)
                inner = _inner_width(line.text, inner)
            yield line if inner or not inside else _fence_to_margin(line)

    # HTML

    def tags(self) -> dict[int, Tag]:
        """Return the container elements outside of code, by start."""
        if self._tags is None:
            self._tags = self._pair_tags() if "<" in self.text else {}
        return self._tags

    def _pair_tags(self) -> dict[int, Tag]:
        text = "".join(" " * len(part) if code else without_code(part) for code, part in split_fences(self.text))
        tags: dict[int, Tag] = {}
        stacks: dict[str, list[Tag]] = {}
        for match in re.finditer(_TAG, text):
            name = match["name"].lower()
            stack = stacks.setdefault(name, [])
            if match["close"]:
                if stack:
                    opened = stack.pop()
                    tags[opened.start] = opened._replace(close=match.start(), end=match.end())
            elif not match["inside"].endswith("/"):
                stack.append(Tag(name, match["inside"], match.start(), match.end()))
                tags[match.start()] = stack[-1]
        return tags


def _item_width(match: re.Match[str]) -> int:
    marked = len(match[0].rstrip(" "))
    width = len(match[0]) if 0 < len(match[0]) - marked <= _TAB else marked + 1
    return min(width, _TAB) if "@" in match[0] else width


def _inner_width(line: str, width: int) -> int:
    """Return the text column of a nested list item, or 0. width: the previous line's"""
    if width and len(line) - len(line.lstrip(" ")) >= width:
        return width
    match = _ITEM.match(line)
    return _item_width(match) if match and not _RULE.match(line) else 0


def _set_lists_apart(lines: list[ViewLine]) -> Iterator[ViewLine]:
    before, fence = "", ""
    for line in lines:
        bare = line.text.strip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif before and _ITEM.match(line.text) and not _ITEM.match(before) and not _RULE.match(line.text):
            yield ViewLine(GAP, line.at, line.whole_start, is_gap=True)
        before = line.text if bare else ""
        yield line


def _fence_to_margin(line: ViewLine) -> ViewLine:
    """Remove blanks before `:::`, with which Pandoc reads no div."""
    match = _FENCE_IN.match(line.text)
    return _cut(line, match.end()) if match else line


def _expand(line: ViewLine) -> ViewLine:
    if "\t" not in line.text:
        return line
    expanded, size = "", 0
    for char in line.text:
        if char not in " \t>-*+:~()[]^#@.0123456789" or char == "\n":
            break
        size += 1
        expanded += " " * (_TAB - len(expanded) % _TAB) if char == "\t" else char
    return ViewLine(expanded + line.text[size:], line.at + size - len(expanded), line.whole_start)


def _cut(line: ViewLine, width: int, marked: bool = False) -> ViewLine:
    at = max(line.at + width, line.whole_start)
    return ViewLine(line.text[width:], line.at + width, at if marked else line.whole_start)
