"""Find the headings of an LLMD document, also without blank lines before them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..markdown.blocks import BOM, blank, split_heading
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
