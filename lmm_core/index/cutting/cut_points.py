"""Cut points: where a text that is too long for one chunk can be cut.

A text is cut into units by what it is: lists at items, block quotes and footnotes at paragraphs,
tables at rows, code at lines, divs at their blocks, prose at sentences. A unit that is still too
long is cut between words, or at last within a word. Each unit carries the lines that a chunk has to
repeat to be read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, repeat
from typing import NamedTuple

from ...markdown.blocks import blank, newline_of
from ...markdown.parse import parse_markdown_text
from ...markdown.regions import DIV_OPEN, Regions
from .separators import CODE, GRID, PROSE, ROWS, WORDS, Separator, find_separators
from .units import ANYWHERE, BLOCK, CLOSE, NO_FRAME, PART, WORD, ChunkLimits, Frame, Unit

DEEPEST = 6  # how many levels of lists, quotes and divs in each other are cut by their blocks


class SourceLine(NamedTuple):
    """A line of the text: `text[start:end]`.

    The first `lead` characters belong to its container: the marks of a quote, the indentation of an
    item.
    """

    start: int
    lead: int
    end: int


_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_BLANK_LINES = re.compile(r"(?:[ \t]*+\r?\n)*(?:[ \t]*+\r?\Z)?")
_ITEM = re.compile(
    r"[ ]{0,3}(?:[-*+]|(?:\d{1,9}|#|[a-z]|[ivxlcdm]+)[.)]|\((?:@\w*|#|\w{1,4})\)|[A-Z][.)](?=[ ]{2}|\t))[ \t]+(?=\S)"
)
_QUOTE = re.compile(r"[ ]{0,3}>[ ]?")
_FOOTNOTE = re.compile(r"[ ]{0,3}\[\^[^\]\s]+\]:[ \t]*")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_FENCE_MARKS = re.compile(r"[^`~\n]*(?:`{3,}|~{3,})")
_HTML_CONTAINER = re.compile(r"[ ]{0,3}<(?!/|!|\?|pre\b|script\b|style\b|textarea\b|table\b)[A-Za-z]", re.I)
_INDENTED = re.compile(r"[ ]{4}|[ ]{0,3}\t")
_NOT_PROSE = r"(?=[ \t>`~:$\\<|+-])[ \t>]*(?:`{3}|~{3}|:{3}|\$\$|\\begin\{|<[A-Za-z!/]|[|+]|-{3,}[ -]*$|[ ]{4}|\t)"
# (The set of characters at the start makes the search skip most lines quickly.)
_NOT_PROSE_HERE, _NOT_PROSE_BELOW = re.compile(_NOT_PROSE, re.M), re.compile("\n" + _NOT_PROSE, re.M)
_RULE = re.compile(r"[ ]*-+(?:[ ]+-+)+[ \t\r]*")
_HEADING = re.compile(r"#{1,6}[ \t]")
_CONTINUES = re.compile(r"[a-zß-ÿ]|\$\$|\\begin\{|\\\[")


class UnitCutter:
    """Cuts a text into units that keep within the limits."""

    def __init__(self, text: str, limits: ChunkLimits) -> None:
        self.text = text
        self.limits = limits
        self._last = (NO_FRAME, 0)

    def units(self, starts: Sequence[int]) -> list[Unit]:
        """Return the units of the text, whose blocks begin at `starts`."""
        found: list[Unit] = []
        for start, end in zip(starts, [*starts[1:], len(self.text)], strict=True):
            whole = self._fit(start, end, NO_FRAME)
            units = whole or self._inside(self._lines(start, end), NO_FRAME, 0)
            last = units[-1]
            if _HEADING.match(self.text, start):  # a heading belongs to the text after it
                last.cost, last.prose = CLOSE, False
            else:
                last.cost = self._block_cost(last, end)
            found += whole or [unit for one in units for unit in self._within_limit(one)]
        return found

    def _block_cost(self, unit: Unit, end: int) -> float:
        """Return the cost of a cut after a block: more if it introduces the next one, or is continued by it."""
        before = self.text[max(unit.start, end - 50) : end].rstrip().rstrip("*_")
        return CLOSE if before.endswith((":", ",")) or _CONTINUES.match(self.text, end) else BLOCK

    def _within_limit(self, unit: Unit) -> list[Unit]:
        """Return the unit, or its parts if it is too long together with its frame."""
        frame = unit.frame
        if frame is NO_FRAME and unit.size <= self.limits.max_size:
            return [unit]
        size = (self.limits.full(unit) if frame.after else unit.size) + self._length(frame)
        if size <= self.limits.max_size:
            return [unit]
        cut = self.cut(unit.start, unit.end)
        cut[-1].cost = unit.cost
        return cut

    def cut(self, start: int, end: int) -> list[Unit]:
        """Cut a part of any kind between words, and long words anywhere."""
        return self._leaf(start, end, NO_FRAME, WORDS)

    def _fit(self, start: int, end: int, frame: Frame, kind: bool | None = None) -> list[Unit]:
        """Return a part as one unit, or an empty list if it is too long."""
        text = self.text[start:end]
        size = self.limits.of(text)
        full = end - start if frame.after and self.limits.count is len else size
        if full > (self.limits.max_size if frame is NO_FRAME else self._room(frame)):
            return []
        if kind is None:
            kind = not (_NOT_PROSE_HERE.match(text) or _NOT_PROSE_BELOW.search(text))
        return [Unit(start, end, frame, BLOCK, kind, size)]

    def _room(self, frame: Frame) -> int:
        """Return the size that a unit may have within a frame, less one for a line end."""
        return self.limits.max_size - self._length(frame)

    def _length(self, frame: Frame) -> int:
        if not frame.before and not frame.after:
            return 0
        if frame is not self._last[0]:  # cached, since it is needed for each line of code that is cut
            self._last = frame, self.limits.count(frame.before) + self.limits.count(frame.after) + 2
        return self._last[1]

    # Blocks and their contents

    def _lines(self, start: int, end: int) -> list[SourceLine]:
        at = list(accumulate(map(len, _LINE.findall(self.text, start, end)), initial=start))
        return list(map(SourceLine, at, repeat(0), at[1:]))

    def _view(self, lines: Sequence[SourceLine]) -> str:
        return "".join([self.text[start + lead : end] for start, lead, end in lines])

    def _inside(self, lines: list[SourceLine], frame: Frame, depth: int) -> list[Unit]:
        """Return the units of some lines, cut at the blocks that they form."""
        if depth > DEEPEST:
            return self._leaf(lines[0].start, lines[-1].end, frame, PROSE)
        units: list[Unit] = []
        counts = [block.source.count("\n") for block in parse_markdown_text(self._view(lines))]
        for part in _parts(lines, counts):
            units += self._part(part, frame, depth)
            units[-1].cost = self._block_cost(units[-1], units[-1].end)
        return units

    def _part(self, lines: list[SourceLine], frame: Frame, depth: int) -> list[Unit]:
        """Return the units of one block: the block itself if it fits."""
        whole = self._fit(lines[0].start, lines[-1].end, frame)
        if whole:
            return whole
        first = next((at for at, line in enumerate(lines) if not blank(self._view([line]))), None)
        if first is None:  # only marks of quotes or items
            return self._leaf(lines[0].start, lines[-1].end, frame, PROSE)
        units = self._by_kind(lines[first:], frame, depth)
        units[0].start = lines[0].start
        return units

    def _by_kind(self, lines: list[SourceLine], frame: Frame, depth: int) -> list[Unit]:
        view = self._view(lines)
        if item := _ITEM.match(view):
            return self._items(lines, view, item.end(), frame, depth)
        if _QUOTE.match(view):
            marked = [line._replace(lead=line.lead + self._width(_QUOTE, line)) for line in lines]
            return self._inside(marked, frame, depth + 1)
        if _FOOTNOTE.match(view):
            width = self._width(_FOOTNOTE, lines[0])
            return self._inside(self._dedent(lines, width, 4), frame, depth + 1)
        if head := _table_head(view):
            separator = GRID if view.lstrip().startswith("+") else ROWS
            return self._framed(lines, head, 0, frame, separator)
        return self._by_region(lines, view, frame, depth)

    def _width(self, pattern: re.Pattern[str], line: SourceLine) -> int:
        found = pattern.match(self.text, line.start + line.lead, line.end)
        return found.end() - found.start() if found else 0

    def _dedent(self, lines: list[SourceLine], first: int, width: int) -> list[SourceLine]:
        """Return the lines inside an item: the first without its mark, the others without indentation."""
        inner = [lines[0]._replace(lead=lines[0].lead + first)]
        for line in lines[1:]:
            at = line.start + line.lead
            text = self.text[at : min(at + width, line.end)]
            inner.append(line._replace(lead=line.lead + len(text) - len(text.lstrip(" \t"))))
        return inner

    def _items(self, lines: list[SourceLine], view: str, width: int, frame: Frame, depth: int) -> list[Unit]:
        """Return the units of a list: its items, or the parts of items that are too long."""
        starts = [at for at in _free_lines(view) if self._is_item(lines[at], width)]
        units: list[Unit] = []
        for start, end in zip([0, *starts[1:]], [*starts[1:], len(lines)], strict=True):
            part = lines[start:end]
            whole = self._fit(part[0].start, part[-1].end, frame)
            mark = self._width(_ITEM, part[0])
            units += whole or self._inside(self._dedent(part, mark, mark), frame, depth + 1)
            units[-1].cost = PART
        return units

    def _is_item(self, line: SourceLine, width: int) -> bool:
        found = _ITEM.match(self.text, line.start + line.lead, line.end)
        text = self.text[line.start + line.lead : line.end]
        return found is not None and len(text) - len(text.lstrip(" \t")) < width

    def _by_region(self, lines: list[SourceLine], view: str, frame: Frame, depth: int) -> list[Unit]:
        """Return the units of code, divs, HTML and formulas, and of the prose between them."""
        regions = list(_regions(view))
        if len(regions) == 1:
            return self._region(lines, view, regions[0][0], frame, depth)
        units: list[Unit] = []
        at = 0
        for special, count in regions:
            part, at = lines[at : at + count], at + count
            whole = self._fit(part[0].start, part[-1].end, frame)
            units += whole or self._region(part, self._view(part), special, frame, depth)
            units[-1].cost = CLOSE
        return units

    def _region(self, lines: list[SourceLine], view: str, special: bool, frame: Frame, depth: int) -> list[Unit]:
        start, end = lines[0].start, lines[-1].end
        if special and _FENCE.match(view):
            return self._framed(lines, 1, 1, frame, CODE)
        if special and view.startswith(":::"):
            return self._framed(lines, 1, 1, frame, None, depth)
        if special and _HTML_CONTAINER.match(view):
            return self._framed(lines, 1, 1, frame, None, depth, repeats=False)
        if special or _INDENTED.match(view) or view.startswith("$$"):
            return self._leaf(start, end, frame, CODE, False)
        return self._leaf(start, end, frame, PROSE)

    def _framed(
        self,
        lines: list[SourceLine],
        head: int,
        tail: int,
        frame: Frame,
        separators: tuple[Separator, ...] | None,
        depth: int = 0,
        repeats: bool = True,
    ) -> list[Unit]:
        """Return the units of the lines between `head` opening and `tail` closing ones.

        All pieces but the first and the last repeat these. The lines are cut at `separators`, or at
        their blocks if that is None.
        """
        last = len(lines) - 1
        while last and blank(self._view([lines[last]])):
            last -= 1
        body = lines[head : last + 1 - tail]
        start, end = lines[0].start, lines[-1].end
        if not body:
            return self._leaf(start, end, frame, CODE, False)
        opening = self.text[start : lines[head - 1].end]
        closing = self.text[lines[last].start : lines[last].end] if tail else ""
        inner = self._frame(frame, opening, closing) if repeats else frame
        if separators is None:
            units = self._inside(body, inner, depth + 1)
        else:
            units = self._leaf(body[0].start, body[-1].end, inner, separators, False)
        if not inner.before.endswith(opening) or inner is frame:  # not repeated, or not whole
            after = frame.after if inner is frame else inner.after
            units.insert(0, Unit(start, lines[head - 1].end, Frame("", after), WORD, False))
        if tail and inner is frame:
            units[-1].cost = WORD
            units.append(Unit(lines[last].start, end, frame, BLOCK, False))
        units[0].start, units[-1].end = start, end
        units[0].frame = Frame(frame.before, units[0].frame.after)
        units[-1].frame = Frame(units[-1].frame.before, frame.after)
        for unit in {0: units[0], len(units) - 1: units[-1]}.values():
            unit.size = self.limits.of(self.text[unit.start : unit.end])
        return units

    def _frame(self, outer: Frame, opening: str, closing: str) -> Frame:
        """Return a frame within another one.

        If it took most of a chunk, the shortest form is returned that fits: the fence without its
        attributes, then without the outer frame, then the outer frame alone.
        """
        newline = newline_of(opening)
        closing += newline if closing and not closing.endswith("\n") else ""
        frames = [Frame(outer.before + opening, closing + outer.after)]
        if marks := _FENCE_MARKS.match(opening):
            frames.append(Frame(outer.before + marks[0] + newline, closing + outer.after))
            frames.append(Frame(marks[0] + newline, closing))
        return next((frame for frame in frames if self._length(frame) <= self.limits.max_size // 2), outer)

    # Lines, sentences, words

    def _leaf(
        self, start: int, end: int, frame: Frame, separators: Sequence[Separator], prose: bool = True
    ) -> list[Unit]:
        """Return the units of a part that holds no other blocks, cut at the first separator, and at
        the next ones where a unit is still too long."""
        if not separators:
            return self._anywhere(start, end, frame, prose)
        units: list[Unit] = []
        for one, other, cost in self._cuts(start, end, separators[0]):
            units += self._fit(one, other, frame, prose) or self._leaf(one, other, frame, separators[1:], prose)
            units[-1].cost = cost
        return units

    def _cuts(self, start: int, end: int, separator: Separator) -> Iterator[tuple[int, int, float]]:
        text = self.text[start:end]
        done = len(text) - len(text.lstrip(" \t\r\n"))  # white space alone makes no part
        at, stop = 0, len(text.rstrip(" \t\r\n"))
        for found in find_separators(separator, text):
            if done < found.end() < stop:
                yield (
                    start + at,
                    start + found.end(),
                    separator.at_blank if found[0].count("\n") > 1 else separator.cost,
                )
                at = found.end()
        yield start + at, end, BLOCK

    def _anywhere(self, start: int, end: int, frame: Frame, prose: bool) -> list[Unit]:
        """Return the units of one long word. Indentation that is too long is left out."""
        text = self.text[start:end]
        at = start + len(text) - len(text.lstrip(" \t\r\n"))
        stop = start + len(text.rstrip(" \t\r\n"))
        units: list[Unit] = []
        while at < stop:
            after = at + self._longest(at, stop, max(1, self._room(frame)))
            size = self.limits.of(self.text[at:after])
            units.append(Unit(at, after if after < stop else end, frame, ANYWHERE, prose, size))
            at = after
        return units

    def _longest(self, at: int, end: int, room: int) -> int:
        """Return how many characters from `at` on fit into `room`; at least one."""
        low, high = 1, min(end - at, 16 * room)
        while low < high:
            middle = (low + high + 1) // 2
            if self.limits.of(self.text[at : at + middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return low


def _parts(lines: list[SourceLine], counts: list[int]) -> Iterator[list[SourceLine]]:
    """Yield the lines of each block, given the number of line ends in each."""
    at = 0
    for count in counts[:-1]:
        if count:
            yield lines[at : at + count]
        at += count
    if at < len(lines):
        yield lines[at:]


def _free_lines(view: str) -> Iterator[int]:
    """Yield the numbers (from 0) of the lines that are not inside a region."""
    at = 0
    for special, count in _regions(view, divs=False):
        yield from range(at, at + (1 if special else count))
        at += count


def _regions(view: str, divs: bool = True) -> Iterator[tuple[bool, int]]:
    """Yield the parts of a text: True for a closed region (code, div, HTML, formula), else False,
    and the number of lines."""
    regions = Regions(view)
    pos = count = 0
    while pos < len(view):
        is_div = divs and DIV_OPEN.match(view, pos) and regions.open_line(pos)
        end = regions.div_end(pos) if is_div else regions.end(pos)
        after = _skip_blank(view, end) if end else regions.line_end(pos)
        if end:
            if count:
                yield False, count
            yield True, view.count("\n", pos, after) + (not view.endswith("\n", pos, after))
            count = 0
        else:
            count += 1
        pos = after
    if count:
        yield False, count


def _skip_blank(view: str, pos: int) -> int:
    found = _BLANK_LINES.match(view, pos)
    return found.end() if found else pos


def _table_head(view: str) -> int:
    """Return the number of lines of a table's header, its rule included; 0 if the text is no table."""
    lines = view[: 20 * 1000].split("\n", 20)[:20]
    if _is_pipe_rule(lines[0]) and "|" in lines[0]:
        return 1
    if len(lines) > 1 and _is_pipe_rule(lines[1]) and "|" in lines[0]:
        return 2
    if lines[0].lstrip().startswith("+") and not lines[0].strip().strip("+-:= "):
        return next((at for at, line in enumerate(lines, 1) if line.lstrip().startswith("+=")), 1)
    if _RULE.fullmatch(lines[0]):
        return 1
    return 2 if len(lines) > 1 and _RULE.fullmatch(lines[1]) and lines[0].strip() else 0


def _is_pipe_rule(line: str) -> bool:
    return "-" in line and "|" in line and not line.strip().strip("|:-+ \t")
