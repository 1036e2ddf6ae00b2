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
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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
        _, region_end, is_region = regions.next_end(pos, end)
        after = regions.line_end(region_end - 1) if is_region else end
        yield Line(pos, after, is_region)
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
_REPLY_FENCE = re.compile(r"(`{3,})reply\r?\n")
FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*?)[ \t]*\r?\n")
_BULLET = re.compile(r"[ ]?[-*+](?:[ \t]+|[ \t]*\r?(?=\n|\Z))")


@dataclass(frozen=True, slots=True)
class LlmdPart:
    """A section of the document, or an item of the changelog.

    text: with LF line ends, without surrounding blank lines, bullet and indentation"""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of the code context.

    content: see `as_shown`; line: of the heading, from 1
    start, end: offsets of the fence; section, section_end: with the heading"""

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

    number: 0 if missing; line: of the heading, from 1; reply_line: of the reply, 0 without one
    start, end: offsets with the heading; reply_at: offset of the reply's mark or place"""

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
    """A parsed document. parts: by title (`MISSION`), without missing ones."""

    text: str
    name: str
    parts: Mapping[str, LlmdPart]
    files: Mapping[str, CodeFile]
    changelog: tuple[LlmdPart, ...]
    entries: tuple[ThreadEntry, ...]
    problems: tuple[Problem, ...] = ()


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
        self.text, self.newline = text, newline_of(text)
        self.problems: list[Problem] = []
        regions = Regions(text)
        self.lines = list(read_lines(text, regions))
        self.headings = read_headings(text, self.lines)
        for start, kind in regions.unclosed.items():
            self._problem(start, f"this {kind} is not closed, so it is read as text")
        self.sections = self._sections()

    def read(self) -> Llmd:
        name = self._name()
        titled = [(title, *section) for title, section in self.sections.items()]
        titled += [(heading.title, heading, end) for heading, end in self._subsections(META)]
        parts = {title: self._part(heading, end) for title, heading, end in titled}
        for title in (META, INSTRUCTIONS, TOOLS, *SECTIONS[1:]):
            if title not in parts:
                self._report_missing("###" if title in (INSTRUCTIONS, TOOLS) else "##", title)
        files, changelog, entries = self._files(), self._items(), self._entries()
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
        sections: dict[str, tuple[Heading, int]] = {}
        heads = [heading for heading in self.headings if heading.level == 2]
        for heading, end in _with_ends(heads, len(self.text)):
            title = section_of(heading.title)
            later = [other for other in sections if SECTIONS.index(other) > SECTIONS.index(title)]
            if title in sections:
                self._problem(heading.start, f"this is a second `## {title}`; only the first counts")
            elif later:
                self._problem(heading.start, f"`## {title}` comes after `## {later[0]}`: move it before")
            sections.setdefault(title, (heading, end))
        return sections

    def _report_missing(self, signs: str, title: str) -> None:
        name = "Meta" if title == META else title
        match = re.compile(rf"^[ \t]*{signs}[ \t]*{name}\b", re.M | re.I).search(self.text)
        hint = ". This one has no blank line before it, or comes after the thread" if match else ""
        self._problem(match.start() if match else 0, f"there is no heading `{signs} {title}`{hint}")

    def _subsections(self, title: str) -> Iterator[tuple[Heading, int]]:
        if title in self.sections:
            section, end = self.sections[title]
            heads = [heading for heading in self.headings if section.end <= heading.start < end]
            yield from _with_ends(heads, end)

    def _part(self, heading: Heading, end: int) -> LlmdPart:
        start = self._skip_blank(heading.end, end)
        text = self.text[start:end].rstrip(" \t\r\n")
        return LlmdPart(text.replace("\r\n", "\n"), start, start + len(text))

    def _skip_blank(self, start: int, end: int) -> int:
        part = self.text[start:end]
        text = trim_blank_lines(part)
        return start + part.index(text) if text else end

    # Code

    def _files(self) -> dict[str, CodeFile]:
        files: dict[str, CodeFile] = {}
        for heading, end in self._subsections(CODE):
            path = _path(heading.title)
            file = self._file(path, heading, end)
            if not path:
                self._problem(heading.start, "this file has no path")
            elif path in files:
                self._problem(heading.start, f"this is a second `### {path}`; only the first counts")
            elif file:
                files[path] = file
        return files

    def _file(self, path: str, heading: Heading, end: int) -> CodeFile | None:
        fences = [line for line in self._lines(heading.end, end) if line.is_region]
        opened = [opening for line in fences if (opening := FENCE.match(self.text, line.start))]
        if not opened:
            self._problem(heading.start, f"`### {path}` has no closed code fence")
            return None
        if len(opened) > 1:
            self._problem(heading.start, f"`### {path}` has several code fences; only the first counts")
        start = opened[0].start()
        stop = next(line.end for line in fences if line.start == start)
        source = self.text[start:stop].rstrip("\r\n")
        content = source[opened[0].end() - start : source.rfind("\n") + 1]
        language = (opened[0]["info"].strip("{}").split() or [""])[0].lstrip(".")
        line = self._line(heading.start)
        return CodeFile(language, as_shown(content), line, start, start + len(source), heading.start, end)

    def _lines(self, start: int, end: int) -> list[Line]:
        first, stop = (bisect_left(self.lines, (offset,)) for offset in (start, end))
        return self.lines[first:stop]

    # Changelog

    def _items(self) -> tuple[LlmdPart, ...]:
        if CHANGELOG not in self.sections:
            return ()
        section, end = self.sections[CHANGELOG]
        starts = [line.start for line in self._lines(section.end, end) if _BULLET.match(self.text, line.start)]
        if not blank(self.text[section.end : starts[0] if starts else end]):
            self._problem(self._skip_blank(section.end, end), "the changelog does not begin with a list item")
        return tuple(self._item(start, stop) for start, stop in pairwise([*starts, end]))

    def _item(self, start: int, stop: int) -> LlmdPart:
        source = self.text[start:stop].rstrip(" \t\r\n")
        body = _BULLET.sub("", source, count=1).replace("\r\n", "\n")
        return LlmdPart(re.sub(r"\n[ ]{1,2}", "\n", body), start, start + len(source))

    # Thread

    def _entries(self) -> tuple[ThreadEntry, ...]:
        if THREAD not in self.sections:
            return ()
        section, end = self.sections[THREAD]
        entries = tuple(self._entry(*part) for part in self._subsections(THREAD))
        start = entries[0].start if entries else end
        if (first := self._skip_blank(section.end, start)) < start:
            self._problem(first, "this text belongs to no entry: begin one with `### Entry 1`")
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
        request, _ = self._text_after(human.end() if human else heading.end, reply_at)
        assistant, line = self._reply(reply.end(), close) if reply else (None, 0)
        return ThreadEntry(number, request, assistant, self._line(heading.start), line, heading.start, reply_at, close)

    def _check_marks(self, number: int, heading: Heading, marks: Sequence[re.Match[str]]) -> None:
        kinds = ["Human" if mark["human"] else "Assistant" for mark in marks]
        if kinds not in (["Human"], ["Human", "Assistant"]):
            present = ", ".join(f"`**{kind}:**`" for kind in kinds) or "neither"
            self._problem(
                heading.start,
                f"entry {number} has {present}: write one `**Human:**`, then at most one `**Assistant:**`, and a blank "
                "line before the next entry",
            )

    def _text_after(self, start: int, end: int) -> tuple[str, int]:
        """Return the text after a mark, with LF line ends, and its line."""
        at = self._skip_blank(start, end)
        if at == start:  # on the line of the mark
            at += self.text.startswith(" ", start)
        text = self.text[at:end].rstrip(" \t\r\n")
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text, self._line(at)

    def _reply(self, start: int, end: int) -> tuple[str | None, int]:
        """Return a reply without its fence `reply`, and its line, or None and 0 if it is empty."""
        text, line = self._text_after(start, end)
        opened = _REPLY_FENCE.match(text)
        if opened and text[opened.end() :].endswith(opened[1]):
            return text[opened.end() : -len(opened[1])].removesuffix("\n"), line + 1
        return (text, line) if text else (None, 0)

    # Places

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _problem(self, offset: int, message: str) -> None:
        self.problems.append(Problem(self._line(offset), message))


def _with_ends(headings: Sequence[Heading], end: int) -> Iterator[tuple[Heading, int]]:
    """Yield headings with the ends of their parts."""
    return zip(headings, [*(heading.start for heading in headings[1:]), end], strict=False)


def _path(title: str) -> str:
    inner = title.strip("`")
    ticks = (len(title) - len(inner)) // 2
    return inner.strip() if ticks and title == "`" * ticks + inner + "`" * ticks else title
