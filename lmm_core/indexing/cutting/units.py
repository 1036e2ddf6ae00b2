"""Find indivisible units of a text, with the cost of a cut after each.

An overlong block is cut at paragraphs and items, between rows of tables and lines of code, and at sentences; then
between words, at last within a word. Units carry the lines that a chunk must repeat to be read alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...markdown.blocks import blank, newline_of, trim_blank_lines
from ...markdown.regions import DIV_CLOSE, DIV_OPEN

# The costs of a cut; 1 is the cost of a chunk with nothing in it.
BLOCK, GOOD, PART, CLOSE, CODE_LINE, LINE, WORD, ANYWHERE = 0.0, 0.02, 0.03, 0.1, 0.2, 0.4, 0.5, 1.0
SECTION = -2.0  # before a heading, where sections shall stay whole


class Separator(NamedTuple):
    """A pattern after which a text can be cut, and the cost.

    at_blank: the cost if the match holds a blank line; sentences: check for abbreviations"""

    pattern: re.Pattern[str]
    cost: float
    at_blank: float
    sentences: bool = False


_LINE_ENDS = re.compile(r"\n(?:[ \t]*\r?\n)*")
_BLANKS = re.compile(r"[ \t\r\n]+")
_SENTENCE = re.compile(  # the set of characters at the start makes the search much faster
    r"[.!?…。！？\n](?:"
    r"(?<=[.!?…])(?<![.!?…].)(?P<more>[.!?…]*+)[\"'”’»)\]*_`]*+"
    r"(?:[ \t]*+\r?\n(?=[ ]{0,3}>)|[ \t\r\n]++(?=[^\Wa-z_]|[^\w\s.,;:!?)\]}…]))"
    r"|(?<=[。！？])[。！？]*+[”’」』）]*+[ \t\r\n]*+"
    r"|(?<=\n)(?:[ \t]*+\r?\n)+)"
)
_ABBREVIATION = re.compile(
    r"\W*(?:(?:[^\W\d_]\.)*[^\W\d_]|Dr|Mr|Mrs|Ms|Prof|St|vs|cf|ca|approx|resp|Figs?|Eqs?|Sec|Ch|Nos?|Vol|pp|eds?"
    r"|bzw|vgl|Abb|Nr|Kap|Bd|Hrsg|sog)"
)
# Code, formulas and link targets, in which a full stop ends no sentence. Longer matches are none of these.
# (Each alternative begins with a plain character, which makes the search much faster.)
_VERBATIM = re.compile(r"`(?<!``)(`*)(?!`)[^`][\s\S]{0,300}?(?<!`)`\1(?!`)|\$[^$\n]{1,300}\$|\]\([^()\n]{1,300}\)")

_SENTENCES = Separator(_SENTENCE, CLOSE, GOOD, sentences=True)
_LINES = Separator(_LINE_ENDS, LINE, GOOD)
_WORDS = Separator(_BLANKS, WORD, WORD)
PROSE = (_SENTENCES, _LINES, _WORDS)
WORDS = (_WORDS,)


def sentence_ends(text: str) -> list[int]:
    """Return the positions in a markdown text at which a sentence or a paragraph ends."""
    return [match.end() for match in find_separators(_SENTENCES, text)]


def find_separators(separator: Separator, text: str) -> Iterable[re.Match[str]]:
    """Return the matches of a separator, except full stops in code, formulas, links and abbreviations."""
    if not separator.sentences:
        return separator.pattern.finditer(text)
    masked = text
    if "`" in text or "$" in text or "](" in text:
        masked = _VERBATIM.sub(lambda match: "x" * len(match[0]), text)
    return [match for match in separator.pattern.finditer(masked) if not _is_abbreviation(masked, match)]


def _is_abbreviation(text: str, match: re.Match[str]) -> bool:
    if match["more"] != "" or text[match.start()] != ".":
        return False
    before = text[max(0, match.start() - 20) : match.start()]
    word = before.split()[-1] if before[-1:].strip() else ""
    numbering = word.isdigit() and not before[: -len(word)].rpartition("\n")[2].strip()
    return numbering or _ABBREVIATION.fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The sizes of chunks, in the unit of `count`.

    size: target; max_size: never exceeded
    least: desired minimum; with it, texts are cut at headings first"""

    size: int
    max_size: int
    count: Callable[[str], int]
    least: int = 0

    @property
    def longest(self) -> int:
        """The size of the longest unit, so that leftovers can join a chunk of the least size."""
        return max(1, self.max_size - 2 * self.least)

    def of(self, text: str) -> int:
        """Return a text's size without surrounding blank lines."""
        trimmed = text.rstrip(" \t\r\n")
        return self.count(trim_blank_lines(trimmed) if trimmed[:1].isspace() else trimmed)

    def of_frame(self, frame: Frame) -> int:
        """Return a frame's size with a line end."""
        if frame is NO_FRAME or not (frame.before or frame.after):
            return 0
        return self.count(frame.before) + self.count(frame.after) + 2


@dataclass(frozen=True, slots=True)
class Frame:
    """Lines repeated in each piece of something longer: table head, or the lines around code or a div."""

    before: str = ""
    after: str = ""


NO_FRAME = Frame()


class TextPart(NamedTuple):
    """A part of a text to make units of: `text[start:end]`. frame, prose: see `Unit`."""

    start: int
    end: int
    frame: Frame = NO_FRAME
    prose: bool = True


@dataclass(slots=True)
class Unit:
    """An indivisible part of a text: `text[start:end]`.

    frame: lines to repeat in a chunk that begins or ends with it; prose: the next chunk may repeat its sentences
    cost: of a cut after it; size: without surrounding blank lines; full: with them"""

    start: int
    end: int
    frame: Frame
    cost: float
    prose: bool
    size: int
    full: int


_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_QUOTE = re.compile(r"(?:[ ]{0,3}>[ ]?)+")
_MARK = r"(?:[-*+]|(?:\d{1,9}|#|[a-z]|[ivxlcdm]+)[.)]|\((?:@\w*|#|\w{1,4})\)|[A-Z][.)](?=[ ]{2}|\t))[ \t]+"
_ITEM = re.compile(rf"[ \t]*{_MARK}(?=\S)")
_FENCE = re.compile(rf"[ \t]*(?:{_MARK})*(?P<marks>`{{3,}}(?![^\n]*`)|~{{3,}})")
_HEADING = re.compile(r"(#{1,6})[ \t]")
_CONTINUES = re.compile(r"[a-zß-ÿ]|\$\$|\\begin\{|\\\[")
_NOT_PROSE = re.compile(
    r"^[ \t>]*(?:`{3}|~{3}|:{3}|\$\$|\\begin\{|<[A-Za-z!/]|[|+]|-{3,}[ -]*$|[ ]{4}|\t|#{1,6}[ ])", re.M
)
_RULE = re.compile(r"[ ]*-+(?:[ ]+-+)+[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Region:
    """Lines of code, a div or a table: first, after the opening, last; with the frame."""

    kind: str
    first: int
    body: int
    last: int
    frame: Frame


def find_units(text: str, starts: Sequence[int], limits: ChunkLimits) -> list[Unit]:
    """Return the units of a text with blocks at `starts`."""
    units: list[Unit] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        block = TextPart(start, end, prose=_is_prose(text[start:end]))
        units += _fit(text, block, limits) or _BlockCutter(text, start, end, limits).units
        if _HEADING.match(text, start):  # belongs to the text after it
            units[-1].cost = CLOSE
        else:
            units[-1].cost = _cost_between(text[max(start, end - 50) : end], text[end : end + 10])
        if limits.least and (heading := _HEADING.match(text, end)):
            units[-1].cost = SECTION - 1 / len(heading[1])
    return units


def _cost_between(before: str, after: str) -> float:
    """Return the cost of a cut between two blocks, higher if one introduces or continues the other."""
    before = before.rstrip().rstrip("*_")
    return CLOSE if before.endswith((":", ",")) or _CONTINUES.match(after) else BLOCK


class _BlockCutter:
    """Cuts an overlong block into units, line by line."""

    def __init__(self, text: str, start: int, end: int, limits: ChunkLimits) -> None:
        self.text, self.limits = text, limits
        spans = [match.span() for match in _LINE.finditer(text, start, end)]
        self.at = [first for first, _ in spans] + [end]
        self.lines = [_QUOTE.sub("", text[first:stop], count=1) for first, stop in spans]
        regions = _find_regions(self.lines, [text[first:stop] for first, stop in spans])
        self.regions = {region.first: region for region in regions}
        self.inside, self.frames = self._find_frames(regions)
        self.units: list[Unit] = []
        line = self._after_blank(0)
        while line < len(self.lines):
            line = self._take(line)
        self.units = self.units or cut_at(text, TextPart(start, end), limits)

    def _find_frames(self, regions: Sequence[_Region]) -> tuple[list[_Region | None], list[Frame]]:
        """Return the innermost region of each line, and the frame open before it."""
        begun = {region.body: region for region in regions}
        inside: list[_Region | None] = []
        frames: list[Frame] = []
        stack: list[_Region] = []
        for line in range(len(self.lines) + 1):
            before = len(stack)
            stack = [region for region in stack if line <= region.last] if stack else stack
            is_same = len(stack) == before and line not in begun
            stack += [begun[line]] if line in begun else []
            inside.append(stack[-1] if stack else None)
            frames.append(frames[-1] if is_same and frames else self._frame([region.frame for region in stack]))
        return inside, frames

    def _frame(self, frames: list[Frame]) -> Frame:
        """Join nested frames within half a chunk: whole, without attributes, or the marks alone."""
        short = [*frames[:-1], _without_attributes(frames[-1])] if frames else []
        for some in (frames, short, short[-1:]):
            frame = Frame("".join(part.before for part in some), "".join(part.after for part in reversed(some)))
            if self.limits.of_frame(frame) <= self.limits.max_size // 2:
                return frame
        return NO_FRAME

    def _take(self, line: int) -> int:
        region, inside = self.regions.get(line), self.inside[line]
        if region is not None:
            stop = self._after_blank(region.last + 1)
            start, end = self.at[line], self.at[stop]
            whole = TextPart(start, end, self.frames[line], _is_prose(self.text[start:end]))
            units = _fit(self.text, whole, self.limits)
            if not units:
                return self._add(line, region.body if region.kind == "code" else self._after_blank(region.body), WORD)
            units[0].frame = Frame(self.frames[line].before, self.frames[stop].after)
            units[0].cost = self._cost_before(stop)
            self.units += units
            return stop
        if inside is None or inside.kind == "div":
            if inside is not None and line == inside.last:
                self.units[-1].cost = WORD  # belongs to the block that it closes
                stop = self._after_blank(line + 1)
                return self._add(line, stop, self._cost_before(stop))
            stop = self._run_end(line)
            prose = _is_prose(self.text[self.at[line] : self.at[stop]])
            return self._add(line, stop, self._cost_before(stop), PROSE, prose=prose)
        return self._take_row(line, inside)

    def _take_row(self, line: int, region: _Region) -> int:
        is_last = region.kind == "code" and line == region.last
        if is_last:
            self.units[-1].cost = WORD
        stop = line + 1
        while region.kind == "grid" and stop <= region.last and not self.lines[stop - 1].lstrip().startswith("+"):
            stop += 1
        stop = self._after_blank(stop)
        if line < region.last and region.kind == "code":
            stop = min(stop, region.last)
        is_blank = stop > line + 1 and blank(self.lines[stop - 1])
        inner = GOOD if is_blank else CODE_LINE if region.kind == "code" else PART
        return self._add(line, stop, self._cost_before(stop) if stop > region.last else inner)

    def _add(
        self, line: int, stop: int, cost: float, separators: Sequence[Separator] = WORDS, *, prose: bool = False
    ) -> int:
        frame = Frame(self.frames[line].before, self.frames[stop].after)
        part = TextPart(self.at[line], self.at[stop], frame, prose)
        units = _fit(self.text, part, self.limits) or cut_at(self.text, part, self.limits, separators)
        units[-1].cost = cost
        self.units += units
        return stop

    def _run_end(self, line: int) -> int:
        """Return the end of a paragraph or an item's first lines, with trailing blank lines."""
        stop = line + 1
        while stop < len(self.lines) and not blank(self.lines[stop]) and not self._begins(stop):
            stop += 1
        return self._after_blank(stop)

    def _begins(self, line: int) -> bool:
        inside = self.inside[line]
        is_end = inside is not None and line == inside.last
        return is_end or line in self.regions or _ITEM.match(self.lines[line]) is not None

    def _after_blank(self, line: int) -> int:
        while line < len(self.lines) and blank(self.lines[line]):
            line += 1
        return line

    def _cost_before(self, line: int) -> float:
        if line >= len(self.lines):
            return BLOCK
        after, is_blank = self.lines[line], blank(self.lines[line - 1])
        if after.startswith(("  ", "\t")):  # within an item
            return 2 * PART if is_blank else CLOSE
        if _ITEM.match(after):
            return PART
        before = self.text[max(self.at[0], self.at[line] - 50) : self.at[line]].rstrip("> \t\r\n")
        return _cost_between(before, after) if is_blank else CLOSE


# Regions


def _find_regions(lines: Sequence[str], raw: Sequence[str]) -> list[_Region]:
    """Return the regions in lines; raw: with quote marks."""
    regions: list[_Region] = []
    divs: list[int] = []
    line = 0
    while line < len(lines):
        text = lines[line]
        if fence := _FENCE.match(text):
            closing = re.compile(rf"[ \t]*{re.escape(fence['marks'][0])}{{{len(fence['marks'])},}}[ \t]*\r?\n?")
            last = next((at for at in range(line + 1, len(lines)) if closing.fullmatch(lines[at])), None)
            if last is not None:
                frame = Frame(raw[line], _with_line_end(raw[last], raw[line]))
                regions.append(_Region("code", line, line + 1, last, frame))
                line = last
        elif DIV_CLOSE.match(text) and divs:
            first = divs.pop()
            frame = Frame(raw[first], _with_line_end(raw[line], raw[first]))
            regions.append(_Region("div", first, first + 1, line, frame))
        elif DIV_OPEN.match(text):
            divs.append(line)
        elif head := _table_head(lines, line):
            last = line + head
            while last < len(lines) and not blank(lines[last]) and not DIV_CLOSE.match(lines[last]):
                last += 1
            if last > line + head:
                kind = "grid" if text.lstrip().startswith("+") else "table"
                frame = Frame("".join(raw[line : line + head]))
                regions.append(_Region(kind, line, line + head, last - 1, frame))
                line = last - 1
        line += 1
    return sorted(regions, key=lambda region: region.first)


def _with_line_end(line: str, other: str) -> str:
    return line if line.endswith("\n") else line + newline_of(other)


def _without_attributes(frame: Frame) -> Frame:
    fence = _FENCE.match(frame.before)
    return replace(frame, before=fence[0] + newline_of(frame.before)) if fence else frame


def _table_head(lines: Sequence[str], line: int) -> int:
    """Return the number of lines of a table's head and rule, 0 without a table."""
    first, second = lines[line], lines[line + 1] if line + 1 < len(lines) else ""
    if "|" in first and (_is_pipe_rule(first) or _is_pipe_rule(second)):
        return 1 if _is_pipe_rule(first) else 2
    if first.lstrip().startswith("+") and not first.strip().strip("+-:= "):
        some = lines[line : line + 20]
        return next((at for at, row in enumerate(some, 1) if row.lstrip().startswith("+=")), 1)
    if _RULE.fullmatch(first):
        return 1
    return 2 if first.strip() and _RULE.fullmatch(second) else 0


def _is_pipe_rule(line: str) -> bool:
    return "-" in line and "|" in line and not line.strip().strip("|:-+ \t")


# Sentences, words


def _is_prose(text: str) -> bool:
    return _NOT_PROSE.search(text) is None


def _fit(text: str, part: TextPart, limits: ChunkLimits) -> list[Unit]:
    """Return a part of a text as one unit, or [] if it is too long."""
    start, end, frame, prose = part
    size = limits.of(text[start:end])
    full = end - start if limits.count is len else size
    if (full if frame.after else size) + limits.of_frame(frame) > limits.longest:
        return []
    return [Unit(start, end, frame, BLOCK, prose, size, full)]


def cut_at(text: str, part: TextPart, limits: ChunkLimits, separators: Sequence[Separator] = WORDS) -> list[Unit]:
    """Cut a part of a text at the first separator, and overlong results at the next ones."""
    if not separators:
        return _cut_anywhere(text, part, limits)
    units: list[Unit] = []
    for smaller, cost in _cuts(text, part, separators[0]):
        units += _fit(text, smaller, limits) or cut_at(text, smaller, limits, separators[1:])
        units[-1].cost = cost
    return units


def _cuts(text: str, part: TextPart, separator: Separator) -> Iterator[tuple[TextPart, float]]:
    source = text[part.start : part.end]
    text_start = len(source) - len(source.lstrip(" \t\r\n"))  # skip parts of white space only
    at, stop = part.start, len(source.rstrip(" \t\r\n"))
    for match in find_separators(separator, source):
        if text_start < match.end() < stop:
            cost = separator.at_blank if match[0].count("\n") > 1 else separator.cost
            end = part.start + match.end()
            yield part._replace(start=at, end=end), cost
            at = end
    yield part._replace(start=at), BLOCK


def _cut_anywhere(text: str, part: TextPart, limits: ChunkLimits) -> list[Unit]:
    """Cut one long word into units, without excessive indentation."""
    start, end, frame, prose = part
    source = text[start:end]
    at, stop = start + len(source) - len(source.lstrip(" \t\r\n")), start + len(source.rstrip(" \t\r\n"))
    most = max(1, limits.longest - limits.of_frame(frame))
    units: list[Unit] = []
    while at < stop:
        longest = range(1, min(stop - at, 16 * most) + 1)
        after = at + max(1, bisect_right(longest, most, key=lambda size, at=at: limits.of(text[at : at + size])))  # type: ignore[misc]
        units += [Unit(at, after if after < stop else end, frame, ANYWHERE, prose, *[limits.of(text[at:after])] * 2)]
        at = after
    return units
