"""The headings of an LLMD document, also in a document without blank lines before them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..markdown.blocks import Block, HeadingBlock, TextBlock, ends_blank
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
_HEADING = re.compile(r"#{2,3}[ \t]+[^\n]*\n?")


def section_of(title: str) -> str:
    """Return the section that a title names, or ""."""
    plain = " ".join(title.split()).casefold()
    if plain == "meta" or plain.startswith("meta:"):
        return META
    return next((name for name in SECTIONS if name.casefold() == plain), "")


def top_lines(source: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the start and end of each line of a text block, and False.

    Code, comments, HTML and divs come as one: their start, their end, and True."""
    regions = Regions(source)
    pos = 0
    while pos < len(source):
        end = regions.line_end(pos)
        found = regions.first(pos, end)
        after = regions.line_end(found[1] - 1) if found else end
        yield pos, after, found is not None
        pos = after


def with_tight_headings(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of a document, in which headings of the format directly below text are headings, too.

    They are so only in a document whose first two lines are headings: in one with blank lines, such
    a line is somebody's text."""
    if (
        len(blocks) < 2
        or not all(isinstance(block, HeadingBlock) for block in blocks[:2])
        or ends_blank(blocks[0].source)
    ):
        return list(blocks)
    return list(_split(blocks))


def _split(blocks: Sequence[Block]) -> Iterator[Block]:
    section = ""
    for block in blocks:
        for part in _parts(block, section) if type(block) is TextBlock else [block]:
            if isinstance(part, HeadingBlock) and part.level == 2 and section != THREAD:
                section = section_of(part.title) or section
            yield part


def _parts(block: Block, section: str) -> Iterator[Block]:
    """Yield the headings of the format in a text block, and the texts between them."""
    source, start, line = block.source, 0, block.line
    for at, end, is_region in top_lines(source):
        if is_region or not _HEADING.match(source, at):
            continue
        heading = HeadingBlock(source[at:end], line + source.count("\n", start, at), 3 if source[at + 2] == "#" else 2)
        if not _counts(heading, section):
            continue
        if at > start:
            yield TextBlock(source[start:at], line)
        yield heading
        section = section_of(heading.title) if heading.level == 2 else section
        line, start = heading.line + 1, end
    if start < len(source):
        yield TextBlock(source[start:], line)


def _counts(heading: HeadingBlock, section: str) -> bool:
    """Return True if a heading is one of the format in a section."""
    if heading.level == 2:
        return section != THREAD and section_of(heading.title) != ""
    if section == THREAD:
        return ENTRY.fullmatch(heading.title) is not None
    return section == CODE or (section == META and heading.title in (INSTRUCTIONS, TOOLS))
