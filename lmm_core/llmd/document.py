"""LLMD documents, from a text to its parts.

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

Everything after `## Conversation Thread` belongs to the thread: only `### Entry N` and the
two marks count there, and every other heading is somebody's text. Before it, other headings
belong to the part they stand in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from ..errors import LlmdError
from ..markdown.blocks import Block, HeadingBlock, Problem, TextBlock, blank, newline_of
from ..markdown.parse import parse_markdown_text
from .headings import (
    CHANGELOG,
    CODE,
    ENTRY,
    INSTRUCTIONS,
    META,
    MISSION,
    PROJECT,
    SECTIONS,
    THREAD,
    TOOLS,
    section_of,
    top_lines,
    with_tight_headings,
)
from .stored import MARK, lines_before, read_spoken

FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*?)[ \t]*\r?\n")
_UNREAD = re.compile(rf"###[ \t]+(?:{ENTRY.pattern})[ \t]*\r?(?=\n|\Z)", re.I)
_BULLET = re.compile(r"[ ]?[-*+](?:[ \t]+|[ \t]*\r?(?=\n|\Z))")


@dataclass(frozen=True, slots=True)
class LlmdPart:
    """A stretch of the document.

    text: with LF line ends and no blank lines around it; line: the one it begins in (from 1);
    start, end: offsets in characters."""

    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file of the code context.

    content: with LF line ends and, unless empty, one at its end (see `as_shown`); line: of its
    heading; start, end: offsets of the fence with its marks; section, section_end: offsets of
    the whole section with its heading."""

    path: str
    language: str
    content: str
    line: int
    start: int
    end: int
    section: int
    section_end: int


@dataclass(frozen=True, slots=True)
class ChangelogItem:
    """An item of the changelog, without its bullet and indentation (the offsets include them)."""

    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """An entry of the thread.

    number: 0 if it has none; human: what the human wrote; assistant: the decoded reply, or None;
    line: of the heading; reply_line: of the reply's first line (0 without one). Offsets: start
    of the heading, reply_at, where a reply with its mark stands or would stand, and end."""

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

    A missing part is None or empty; `problems` tells what is wrong with the document."""

    text: str
    name: str
    meta: LlmdPart | None
    instructions: LlmdPart | None
    tools: LlmdPart | None
    mission: LlmdPart | None
    code: LlmdPart | None
    log: LlmdPart | None
    thread: LlmdPart | None
    files: Mapping[str, CodeFile]
    changelog: tuple[ChangelogItem, ...]
    entries: tuple[ThreadEntry, ...]
    problems: tuple[Problem, ...] = field(default=())

    def __str__(self) -> str:
        return self.text


def parse_llmd(text: str) -> Llmd:
    """Return the parts of a document. This never fails: see `Llmd.problems`."""
    return _DocumentReader(text).read()


def unanswered(llmd: Llmd) -> ThreadEntry | None:
    """Return the last entry with a text and no reply, or None."""
    waiting = [entry for entry in llmd.entries if entry.assistant is None and not blank(entry.human)]
    return waiting[-1] if waiting else None


def as_shown(content: str) -> str:
    """Return a file's text as the code context shows it: LF line ends, one at the end.

    Compare it with `CodeFile.content`."""
    text = re.sub(r"\r+(?=\n|\Z)", "", content)
    return text if not text or text.endswith("\n") else text + "\n"


Span = tuple[int, int]


class _DocumentReader:
    """Reads one document. Spans are indices of blocks: the first, and the one after the last."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Problem] = []
        self.blocks = with_tight_headings(parse_markdown_text(text, self.problems))
        self.offsets = list(accumulate((len(block.source) for block in self.blocks), initial=0))

    def read(self) -> Llmd:
        name = self._name()
        found = self._sections()
        meta, instructions, tools = self._meta(found.get(META))
        parts = {title: self._part(*span) for title, span in found.items()}
        files = self._files(found[CODE]) if CODE in found else {}
        changelog = self._items(found[CHANGELOG]) if CHANGELOG in found else ()
        entries = self._entries(found[THREAD]) if THREAD in found else ()
        return Llmd(
            self.text, name, meta, instructions, tools, parts.get(MISSION), parts.get(CODE), parts.get(CHANGELOG),
            parts.get(THREAD), files, changelog, entries, tuple(sorted(self.problems, key=lambda one: one.line)),
        )  # fmt: skip

    # Sections

    def _name(self) -> str:
        first = self.blocks[0] if self.blocks else Block("")
        title = first.title if isinstance(first, HeadingBlock) and first.level == 1 else ""
        if title.startswith(PROJECT) and first.line == 1:
            return title.removeprefix(PROJECT).strip()
        self._problem(1, "the first line has to be `# Project: NAME`")
        return title.removeprefix(PROJECT).strip()

    def _sections(self) -> dict[str, Span]:
        """Return the blocks of each section, without its heading."""
        heads = list(self._section_heads())
        self._check_order(heads)
        found: dict[str, Span] = {}
        for (title, at), (_, end) in pairwise([*heads, ("", len(self.blocks))]):
            if title in found:
                self._problem(self.blocks[at].line, f"there is a second section `## {title}`; the first one counts")
            found.setdefault(title, (at + 1, end))
        return found

    def _section_heads(self) -> Iterator[tuple[str, int]]:
        for at, block in enumerate(self.blocks):
            if isinstance(block, HeadingBlock) and block.level == 2 and (title := section_of(block.title)):
                yield title, at
                if title == THREAD:
                    return

    def _check_order(self, heads: Sequence[tuple[str, int]]) -> None:
        for (before, _), (title, at) in pairwise(heads):
            if SECTIONS.index(title) < SECTIONS.index(before):
                self._problem(self.blocks[at].line, f"`## {title}` has to come before `## {before}`")
        for title in SECTIONS:
            if all(title != name for name, _ in heads):
                self._missing("##", title)

    def _missing(self, marks: str, title: str) -> None:
        """Report that a heading is missing, with the line that may have been meant."""
        name = "Meta" if title == META else title
        found = re.compile(rf"^[ \t]*{marks}[ \t]*{name}\b", re.M | re.I).search(self.text)
        line = self.text.count("\n", 0, found.start()) + 1 if found else 1
        hint = f": line {line} is none (it needs a blank line before it, and comes before the thread)" if found else ""
        self._problem(line, f"there is no heading `{marks} {title}`{hint}")

    def _meta(self, span: Span | None) -> tuple[LlmdPart | None, LlmdPart | None, LlmdPart | None]:
        if span is None:
            return None, None, None
        heads = [at for at in range(*span) if self._third(at) in (INSTRUCTIONS, TOOLS)]
        found: dict[str, LlmdPart] = {}
        for at, end in pairwise([*heads, span[1]]):
            found.setdefault(self._third(at), self._part(at + 1, end))
        for title in (INSTRUCTIONS, TOOLS):
            if title not in found:
                self._missing("###", title)
        about = self._part(span[0], heads[0] if heads else span[1])
        return about, found.get(INSTRUCTIONS), found.get(TOOLS)

    def _third(self, at: int) -> str:
        """Return the title of a third-level heading, "" for any other block."""
        block = self.blocks[at]
        return block.title if isinstance(block, HeadingBlock) and block.level == 3 else ""

    def _part(self, first: int, end: int) -> LlmdPart:
        start = self.offsets[first]
        text = self.text[start : self.offsets[end]].rstrip(" \t\r\n")
        line = self.blocks[first].line if first < end else self.blocks[first - 1].line
        return LlmdPart(text.replace("\r\n", "\n"), line, start, start + len(text))

    # Code

    def _files(self, span: Span) -> dict[str, CodeFile]:
        heads = [at for at in range(*span) if self._is_third(at)]
        files: dict[str, CodeFile] = {}
        for at, end in pairwise([*heads, span[1]]):
            path = _path(self._third(at))
            file = self._file(path, at, end)
            if not path:
                self._problem(self.blocks[at].line, "this file has no name")
            elif path in files:
                self._problem(self.blocks[at].line, f"there is a second `### {path}`; the first one counts")
            elif file:
                files[path] = file
        return files

    def _is_third(self, at: int) -> bool:
        block = self.blocks[at]
        return isinstance(block, HeadingBlock) and block.level == 3

    def _file(self, path: str, at: int, end: int) -> CodeFile | None:
        fences = [span for span in self._regions(at + 1, end) if FENCE.match(self.text, span[0])]
        line = self.blocks[at].line
        if not fences:
            self._problem(line, f"`### {path}` has no code fence, or one that is not closed")
            return None
        if len(fences) > 1:
            self._problem(line, f"`### {path}` has more than one code fence; the first one counts")
        start, stop = fences[0]
        language, content = read_fence(self.text[start:stop])
        source = self.text[start:stop].rstrip("\r\n")
        return CodeFile(
            path, language, content, line, start, start + len(source), self.offsets[at], self.offsets[end]
        )  # fmt: skip

    def _regions(self, first: int, end: int) -> Iterator[Span]:
        """Yield where code, comments, HTML and divs stand in the text blocks of a span."""
        for at in range(first, end):
            if isinstance(self.blocks[at], TextBlock):
                base = self.offsets[at]
                yield from ((base + a, base + b) for a, b, region in top_lines(self.blocks[at].source) if region)

    # Changelog

    def _items(self, span: Span) -> tuple[ChangelogItem, ...]:
        starts = [start for start, _ in self._lines(*span) if _BULLET.match(self.text, start)]
        first, end = self.offsets[span[0]], self.offsets[span[1]]
        if not blank(self.text[first : starts[0] if starts else end]):
            self._problem(self.blocks[span[0]].line, "the changelog begins with something that is no list item")
        return tuple(self._item(start, stop) for start, stop in pairwise([*starts, end]))

    def _item(self, start: int, stop: int) -> ChangelogItem:
        source = self.text[start:stop].rstrip(" \t\r\n")
        bullet = _BULLET.match(source)
        body = source[bullet.end() if bullet else 0 :].replace("\r\n", "\n")
        return ChangelogItem(re.sub(r"\n[ ]{1,2}", "\n", body), self._line_at(start), start, start + len(source))

    def _lines(self, first: int, end: int) -> Iterator[Span]:
        """Yield the lines of a span's text blocks outside code and the like, and those that open it."""
        for at in range(first, end):
            if isinstance(self.blocks[at], TextBlock):
                base = self.offsets[at]
                yield from ((base + a, base + b) for a, b, _ in top_lines(self.blocks[at].source))

    # Thread

    def _entries(self, span: Span) -> tuple[ThreadEntry, ...]:
        heads = [at for at in range(*span) if ENTRY.fullmatch(self._third(at))]
        before = self.text[self.offsets[span[0]] : self.offsets[heads[0] if heads else span[1]]]
        if not blank(before):
            self._problem(self.blocks[span[0]].line, "a text that belongs to no entry: begin with `### Entry 1`")
        entries = tuple(self._entry(at, end) for at, end in pairwise([*heads, span[1]]))
        self._check_numbers(entries)
        return entries

    def _entry(self, at: int, end: int) -> ThreadEntry:
        found = ENTRY.fullmatch(self._third(at))
        number = int(found[1]) if found and found[1] else 0
        start, body, stop = self.offsets[at], self.offsets[at + 1], self.offsets[end]
        marks = [mark for line, _ in self._lines(at + 1, end) if (mark := MARK.match(self.text, line))]
        human = next((mark for mark in marks if mark["human"]), None)
        reply = next((mark for mark in marks if not mark["human"]), None)
        behind = [mark.start() for mark in marks if reply and mark.start() > reply.start()]
        self._check_marks(number, (at, end), marks)
        reply_at = reply.start() if reply else stop
        close = behind[0] if behind else stop
        said = read_spoken(self.text[human.end() if human else body : reply_at], newline_of(self.text))
        assistant = read_spoken(self.text[reply.end() : close], newline_of(self.text), reply) if reply else None
        line = self._line_at(reply_at) + lines_before(self.text[reply.end() : close]) if reply else 0
        return ThreadEntry(number, said or "", assistant, self.blocks[at].line, line, start, reply_at, close)

    def _check_marks(self, number: int, span: Span, marks: Sequence[re.Match[str]]) -> None:
        kinds = ["Human" if mark["human"] else "Assistant" for mark in marks]
        if kinds not in (["Human"], ["Human", "Assistant"]):
            has = ", ".join(f"`**{kind}:**`" for kind in kinds) or "neither"
            wanted = "one `**Human:**` and then at most one `**Assistant:**`"
            hint = self._unread_heading(span[0] + 1, span[1])
            self._problem(self.blocks[span[0]].line, f"entry {number}: {wanted}; here: {has}{hint}")

    def _unread_heading(self, first: int, end: int) -> str:
        """Return a hint at a line that looks like an entry's heading but is none, or ""."""
        found = (start for start, _ in self._lines(first, end) if _UNREAD.match(self.text, start))
        at = next(found, None)
        return "" if at is None else f" (line {self._line_at(at)} is no heading: it needs a blank line before it)"

    def _check_numbers(self, entries: Sequence[ThreadEntry]) -> None:
        last = 0
        for entry in entries:
            if not entry.number:
                self._problem(entry.line, f"this entry has no number; write `### Entry {last + 1}`")
            elif entry.number <= last:
                self._problem(entry.line, f"entry {entry.number} comes after entry {last}: numbers have to rise")
            last = max(last, entry.number)

    # Places

    def _line_at(self, offset: int) -> int:
        at = bisect_left(self.offsets, offset + 1) - 1
        lead = self.text.count("\n", self.offsets[at], offset)
        return (self.blocks[at].line if at else 1) + lead

    def _problem(self, line: int, message: str) -> None:
        self.problems.append(Problem(line, message))


def _path(title: str) -> str:
    """Return the path in a file's heading, which may be in backticks."""
    inner = title.strip("`")
    ticks = (len(title) - len(inner)) // 2
    return inner.strip() if ticks and title == "`" * ticks + inner + "`" * ticks else title


def read_fence(source: str) -> tuple[str, str]:
    """Return the language and the content (LF line ends) of a code fence."""
    opened = FENCE.match(source)
    if not opened:
        raise LlmdError("not a code fence")
    text = source.rstrip("\r\n")
    content = text[opened.end() : text.rfind("\n") + 1]
    word = (opened["info"].strip("{}").split() or [""])[0]
    return word.lstrip("."), as_shown(content)
