"""The sections of the notes that are nearest to a group of questions, with the lines where they stand now."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...asked.groups import Group
from ...errors import LmmError
from ...index.chunks import anchor_of, titles_paths
from ...markdown.tree import load_tree, sections
from ...retrieve.library import Library
from ...retrieve.passages import Key, Section
from ...retrieve.retriever import Retriever
from ...study.measures import section_address

NEAREST = 3  # sections of a group
SEARCHED = 3  # questions of a group that are searched for, the most central ones
LISTED = 5  # sections that a question gives a vote


@dataclass(frozen=True)
class NearSection:
    """A section that is near to a question.

    address: `file#anchor`; source: its file, from the project's root; line: that of its heading as the file is
    now; score: from 0 to 1 for the best one that each of the group's questions finds."""

    address: str
    titles: tuple[str, ...]
    source: str
    line: int
    score: float

    @property
    def place(self) -> str:
        """The place as `file:line`."""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True)
class GroupNearSections:
    """A group with the sections that are nearest to it, the nearest first; none if nothing has a word of it."""

    group: Group
    nearest: tuple[NearSection, ...]


async def find_nearest(library: Library, groups: Sequence[Group], places: Places) -> list[GroupNearSections]:
    """Return groups with their nearest sections. Raise StoreError, ModelError and RetrieveError."""
    retriever, found = Retriever(library), []
    for group in groups:
        votes: defaultdict[Key, float] = defaultdict(float)
        known: dict[Key, Section] = {}
        asked = list(dict.fromkeys(turn.question for turn in group.turns))[:SEARCHED]
        for question in asked:
            ranked = (await retriever.retrieve(question)).sections[:LISTED]
            for one in ranked:
                known[one.section.key] = one.section
                votes[one.section.key] += one.score / (ranked[0].score or 1.0) / len(asked)
        best = sorted(known, key=lambda key: -votes[key])[:NEAREST]
        near = [await asyncio.to_thread(places.find, known[key], votes[key]) for key in best]
        found.append(GroupNearSections(group, tuple(near)))
    return found


class Places:
    """The lines of sections as the files are now, which may have changed since they were indexed.

    root: the project's folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._headings: dict[str, list[tuple[tuple[str, ...], str, int]]] = {}

    def find(self, section: Section, score: float = 0.0) -> NearSection:
        """Return a section with its line."""
        address = section_address(section)
        return NearSection(address, section.titles, section.source, self.line(section), score)

    def line(self, section: Section) -> int:
        """Return the line of a section's heading, or that of its text in the index if the file has no such heading."""
        if not section.path:
            return 1
        headings = self._headings_in(section.source)
        named = [line for _, anchor, line in headings if anchor == section.anchor != ""]
        titled = [line for titles, _, line in headings if titles == section.titles]
        return (named or titled or [section.line_start])[0]

    def _headings_in(self, source: str) -> list[tuple[tuple[str, ...], str, int]]:
        """Return titles, identifiers and lines of a file's headings, none if it cannot be read."""
        if source not in self._headings:
            self._headings[source] = self._read(source)
        return self._headings[source]

    def _read(self, source: str) -> list[tuple[tuple[str, ...], str, int]]:
        try:
            tree = load_tree(self.root / source)
        except (OSError, LmmError):
            return []
        if tree is None:
            return []
        titles, identifiers = titles_paths(tree), Counter[str]()
        return [
            (tuple(titles[id(node)]), anchor_of(node.heading, identifiers), node.line)
            for node in sections(tree)
            if node.heading is not None
        ]
