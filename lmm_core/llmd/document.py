"""Parse LLMD documents.

    # Project: NAME
    ## Meta: LLMD (Large Language Model Markdown Format)
    ### Instructions
    ### Tools
    ## Mission
    ## Code Context
    ### path            (with one code fence)
    ## Changelog        (a list)
    ## Conversation Thread
    ### Entry 1
    **Human:** …
    **Assistant:** …

After `## Conversation Thread` only `### Entry N` and the two marks are parsed; other headings are text. Before it,
other headings belong to the enclosing part."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ..errors import LlmdError
from ..markdown.blocks import BOM, Problem, blank, newline_of, split_heading, trim_blank_lines
from ..markdown.regions import Regions

PROJECT = "Project:"
META = "Meta: LLMD (Large Language Model Markdown Format)"
INSTRUCTIONS = "Instructions"
TOOLS = "Tools"
MISSION = "Mission"
CODE = "Code Context"
CHANGELOG = "Changelog"
THREAD = "Conversation Thread"
SECTIONS = (META, MISSION, CODE, CHANGELOG, THREAD)

ENTRY = re.compile(r"Entry(?:[ \t]+([0-9]{1,9}))?[.:]?", re.I)
_HEADING = re.compile(r"(#{1,6})(?:[ \t][^\n]*)?\r?(?:\n|\Z)")


class Line(NamedTuple):
    """Offsets of a line or a whole region (code, comment, HTML, div)."""

    start: int
    end: int
    is_region: bool


class Heading(NamedTuple):
    """A heading with its line's offsets."""

    level: int
    title: str
    start: int
    end: int


def read_lines(text: str, regions: Regions) -> Iterator[Line]:
    """Yield the lines of a text, regions as one."""
    pos = len(BOM) if text.startswith(BOM) else 0
    while pos < len(text):
        end = regions.line_end(pos)
        region = regions.first(pos, end)
        after = regions.line_end(region[1] - 1) if region else end
        yield Line(pos, after, region is not None)
        pos = after


def read_headings(text: str, lines: Sequence[Line]) -> list[Heading]:
    """Return the format's headings.

    A heading directly below text counts only if the document's first two lines are headings."""
    starts = [_HEADING.match(text, line.start) is not None and not line.is_region for line in lines]
    is_tight = starts[:2] == [True, True]
    headings: list[Heading] = []
    section = ""
    for at, line in enumerate(lines):
        before = lines[at - 1] if at else line
        can_start = not at or is_tight or starts[at - 1] or before.is_region or blank(text[before.start : before.end])
        if not starts[at] or not can_start:
            continue
        source = text[line.start : line.end]
        heading = Heading(len(source) - len(source.lstrip("#")), split_heading(source)[0], line.start, line.end)
        if at == 0 or _counts(heading, section):
            headings.append(heading)
            section = section_of(heading.title) if heading.level == 2 else section
    return headings


def section_of(title: str) -> str:
    """Return the section with a title, or ""."""
    plain = " ".join(title.split()).casefold()
    if plain == "meta" or plain.startswith("meta:"):
        return META
    return next((name for name in SECTIONS if name.casefold() == plain), "")


def _counts(heading: Heading, section: str) -> bool:
    if section == THREAD:
        return heading.level == 3 and ENTRY.fullmatch(heading.title) is not None
    if heading.level == 2:
        return section_of(heading.title) != ""
    return heading.level == 3 and (
        section == CODE or (section == META and heading.title in (INSTRUCTIONS, TOOLS))
    )  # fmt: skip


# Document


# Marks of an entry; an ambiguous reply is enclosed in a code fence `reply`
MARK = re.compile(r"\*\*(?:(?P<human>Human)|Assistant):\*\*")
_REPLY_FENCE = re.compile(r"(`{3,})reply\r?")
FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*?)[ \t]*\r?\n")
_BULLET = re.compile(r"[ ]?[-*+](?:[ \t]+|[ \t]*\r?(?=\n|\Z))")


@dataclass(frozen=True, slots=True)
class LlmdPart:
    """A section of the document, or an item of the changelog.

    text: with LF line ends, without surrounding blank lines, bullet and indentation
    line: from 1
    start, end: offsets in characters"""

    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of the code context.

    content: see `as_shown`
    line: of the heading
    start, end: offsets of the fence
    section, section_end: with the heading"""

    path: str
    language: str
    content: str
    line: int
    start: int
    end: int
    section: int
    section_end: int


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """An entry of the thread.

    number: 0 if missing
    line: of the heading
    reply_line: 0 without reply
    start, end: offsets with the heading
    reply_at: offset of the reply's mark or place"""

    number: int
    human: str
    assistant: str | None
    line: int
    reply_line: int
    start: int
    reply_at: int
    end: int


@dataclass(frozen=True, slots=True)
class Llmd:
    """A parsed document; `str(llmd)` is its text, byte for byte.

    parts: by title (`MISSION`), without missing ones"""

    text: str
    name: str
    parts: Mapping[str, LlmdPart]
    files: Mapping[str, CodeFile]
    changelog: tuple[LlmdPart, ...]
    entries: tuple[ThreadEntry, ...]
    problems: tuple[Problem, ...] = field(default=())

    def __str__(self) -> str:
        return self.text


def parse_llmd(text: str) -> Llmd:
    """Parse a document without failing; errors are in `Llmd.problems`."""
    return _DocumentReader(text).read()


def unanswered(llmd: Llmd) -> ThreadEntry | None:
    """Return the last non-empty entry without a reply, or None."""
    waiting = [entry for entry in llmd.entries if entry.assistant is None and not blank(entry.human)]
    return waiting[-1] if waiting else None


def as_shown(content: str) -> str:
    """Return a file's text as in the code context: LF line ends, one at the end unless empty."""
    text = re.sub(r"\r+(?=\n|\Z)", "", content)
    return text if not text or text.endswith("\n") else text + "\n"


class _DocumentReader:
    """Parses one document. Parts are given by heading and end offset."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Problem] = []
        regions = Regions(text)
        self.lines = list(read_lines(text, regions))
        self.headings = read_headings(text, self.lines)
        for start, kind in regions.unclosed.items():
            self._problem(start, f"this {kind} is not closed, so it is read as text")

    def read(self) -> Llmd:
        name = self._name()
        sections = self._sections()
        parts = {title: self._part(*section) for title, section in sections.items()}
        parts |= self._meta(*sections[META]) if META in sections else {}
        files = self._files(*sections[CODE]) if CODE in sections else {}
        changelog = self._items(*sections[CHANGELOG]) if CHANGELOG in sections else ()
        entries = self._entries(*sections[THREAD]) if THREAD in sections else ()
        problems = tuple(sorted(self.problems, key=lambda problem: problem.line))
        return Llmd(self.text, name, parts, files, changelog, entries, problems)

    # Sections

    def _name(self) -> str:
        first = self.headings[0] if self.headings else None
        title = first.title if first and first.level == 1 else ""
        if not title.startswith(PROJECT):
            self._problem(0, "the first line is not `# Project: NAME`")
        return title.removeprefix(PROJECT).strip()

    def _sections(self) -> dict[str, tuple[Heading, int]]:
        heads = [heading for heading in self.headings if heading.level == 2]
        titles = [section_of(heading.title) for heading in heads]
        sections: dict[str, tuple[Heading, int]] = {}
        for title, (heading, end) in zip(titles, _with_ends(heads, len(self.text)), strict=True):
            if title in sections:
                self._problem(heading.start, f"this is a second `## {title}`; only the first counts")
            sections.setdefault(title, (heading, end))
        for (before, title), heading in zip(pairwise(titles), heads[1:], strict=True):
            if SECTIONS.index(title) < SECTIONS.index(before):
                self._problem(heading.start, f"`## {title}` comes after `## {before}`: move it before")
        for title in SECTIONS:
            if title not in sections:
                self._report_missing("##", title)
        return sections

    def _report_missing(self, signs: str, title: str) -> None:
        name = "Meta" if title == META else title
        match = re.compile(rf"^[ \t]*{signs}[ \t]*{name}\b", re.M | re.I).search(self.text)
        hint = ". This one has no blank line before it, or comes after the thread" if match else ""
        self._problem(match.start() if match else 0, f"there is no heading `{signs} {title}`{hint}")

    def _meta(self, section: Heading, end: int) -> dict[str, LlmdPart]:
        heads = self._subheadings(section, end)
        parts = {META: self._part(section, heads[0].start if heads else end)}
        for heading, stop in _with_ends(heads, end):
            parts.setdefault(heading.title, self._part(heading, stop))
        for title in (INSTRUCTIONS, TOOLS):
            if title not in parts:
                self._report_missing("###", title)
        return parts

    def _subheadings(self, section: Heading, end: int) -> list[Heading]:
        return [heading for heading in self.headings if section.end <= heading.start < end]

    def _part(self, heading: Heading, end: int) -> LlmdPart:
        start = self._skip_blank(heading.end, end)
        text = self.text[start:end].rstrip(" \t\r\n")
        line = self._line(start if text else heading.start)
        return LlmdPart(text.replace("\r\n", "\n"), line, start, start + len(text))

    def _skip_blank(self, start: int, end: int) -> int:
        part = self.text[start:end]
        text = trim_blank_lines(part)
        return start + part.index(text) if text else end

    # Code

    def _files(self, section: Heading, end: int) -> dict[str, CodeFile]:
        files: dict[str, CodeFile] = {}
        for heading, stop in _with_ends(self._subheadings(section, end), end):
            path = _path(heading.title)
            file = self._file(path, heading, stop)
            if not path:
                self._problem(heading.start, "this file has no path")
            elif path in files:
                self._problem(heading.start, f"this is a second `### {path}`; only the first counts")
            elif file:
                files[path] = file
        return files

    def _file(self, path: str, heading: Heading, end: int) -> CodeFile | None:
        lines = self._lines(heading.end, end)
        fences = [line for line in lines if line.is_region and FENCE.match(self.text, line.start)]
        if not fences:
            self._problem(heading.start, f"`### {path}` has no closed code fence")
            return None
        if len(fences) > 1:
            self._problem(heading.start, f"`### {path}` has several code fences; only the first counts")
        source = self.text[fences[0].start : fences[0].end].rstrip("\r\n")
        language, content = read_fence(source)
        start = fences[0].start
        line = self._line(heading.start)
        return CodeFile(path, language, content, line, start, start + len(source), heading.start, end)

    def _lines(self, start: int, end: int) -> list[Line]:
        first, stop = (bisect_left(self.lines, (offset,)) for offset in (start, end))
        return self.lines[first:stop]

    # Changelog

    def _items(self, section: Heading, end: int) -> tuple[LlmdPart, ...]:
        starts = [line.start for line in self._lines(section.end, end) if _BULLET.match(self.text, line.start)]
        if not blank(self.text[section.end : starts[0] if starts else end]):
            start = self._skip_blank(section.end, end)
            self._problem(start, "the changelog does not begin with a list item")
        return tuple(self._item(start, stop) for start, stop in pairwise([*starts, end]))

    def _item(self, start: int, stop: int) -> LlmdPart:
        source = self.text[start:stop].rstrip(" \t\r\n")
        body = _BULLET.sub("", source, count=1).replace("\r\n", "\n")
        return LlmdPart(re.sub(r"\n[ ]{1,2}", "\n", body), self._line(start), start, start + len(source))

    # Thread

    def _entries(self, section: Heading, end: int) -> tuple[ThreadEntry, ...]:
        heads = self._subheadings(section, end)
        first = self._skip_blank(section.end, heads[0].start if heads else end)
        if first < (heads[0].start if heads else end):
            self._problem(first, "this text belongs to no entry: begin one with `### Entry 1`")
        entries = tuple(self._entry(*pair) for pair in _with_ends(heads, end))
        last = 0
        for entry in entries:
            if not entry.number:
                self._problem(entry.start, f"this entry has no number: write `### Entry {last + 1}`")
            elif entry.number <= last:
                self._problem(entry.start, f"entry {entry.number} comes after entry {last}: number it {last + 1}")
            last = max(last, entry.number)
        return entries

    def _entry(self, heading: Heading, end: int) -> ThreadEntry:
        name = ENTRY.fullmatch(heading.title)
        number = int(name[1]) if name and name[1] else 0
        marks = [mark for line in self._lines(heading.end, end) if (mark := MARK.match(self.text, line.start))]
        human = next((mark for mark in marks if mark["human"]), None)
        reply = next((mark for mark in marks if not mark["human"]), None)
        self._check_marks(number, heading, marks)
        reply_at = reply.start() if reply else end
        close = next((mark.start() for mark in marks if mark.start() > reply_at), end)
        newline = newline_of(self.text)
        request = _entry_text(self.text[human.end() if human else heading.end : reply_at], newline)
        assistant, line = None, 0
        if reply:
            source = self.text[reply.end() : close]
            assistant, line = _entry_text(source, newline, is_reply=True), self._line(reply_at) + _lines_before(source)
        return ThreadEntry(
            number, request or "", assistant, self._line(heading.start), line, heading.start, reply_at, close
        )  # fmt: skip

    def _check_marks(self, number: int, heading: Heading, marks: Sequence[re.Match[str]]) -> None:
        kinds = ["Human" if mark["human"] else "Assistant" for mark in marks]
        if kinds not in (["Human"], ["Human", "Assistant"]):
            present = ", ".join(f"`**{kind}:**`" for kind in kinds) or "neither"
            self._problem(
                heading.start,
                f"entry {number} has {present}: write one `**Human:**`, then at most one `**Assistant:**`, and a blank "
                "line before the next entry",
            )

    # Places

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _problem(self, offset: int, message: str) -> None:
        self.problems.append(Problem(self._line(offset), message))


def _with_ends(headings: Sequence[Heading], end: int) -> Iterator[tuple[Heading, int]]:
    """Yield headings with the offsets at which their parts end."""
    return zip(headings, [*(heading.start for heading in headings[1:]), end], strict=False)


def _entry_text(source: str, newline: str, is_reply: bool = False) -> str | None:
    """Return the text after a mark with LF line ends, or None if empty."""
    text = source.rstrip(" \t\r\n")
    if newline == "\r\n":
        text = text.replace("\r\n", "\n")
    if not text:
        return None
    text = trim_blank_lines(text) if blank(text.split("\n", 1)[0]) else text.removeprefix(" ")
    fenced = _in_reply_fence(text) if is_reply else None
    return text if fenced is None else fenced


def _in_reply_fence(text: str) -> str | None:
    first, _, rest = text.partition("\n")
    opened = _REPLY_FENCE.fullmatch(first)
    if not opened or not rest.endswith(opened[1]):
        return None
    return rest[: -len(opened[1])].removesuffix("\n")


def _lines_before(source: str) -> int:
    text = source.lstrip(" \t\r\n")
    count = source[: len(source) - len(text)].count("\n")
    return count + (0 if _in_reply_fence(text.rstrip(" \t\r\n")) is None else 1)


def _path(title: str) -> str:
    inner = title.strip("`")
    ticks = (len(title) - len(inner)) // 2
    return inner.strip() if ticks and title == "`" * ticks + inner + "`" * ticks else title


def read_fence(source: str) -> tuple[str, str]:
    """Return a code fence's language and content (LF line ends)."""
    opened = FENCE.match(source)
    if not opened:
        raise LlmdError("not a code fence")
    text = source.rstrip("\r\n")
    content = text[opened.end() : text.rfind("\n") + 1]
    word = (opened["info"].strip("{}").split() or [""])[0]
    return word.lstrip("."), as_shown(content)
