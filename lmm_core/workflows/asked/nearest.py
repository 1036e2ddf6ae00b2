"""The sections of the notes that are nearest to a group of questions, with the lines where they stand now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...asked.features import found_sections
from ...asked.groups import Group
from ...errors import LmmError
from ...index.chunks import anchor_of, titles_paths
from ...markdown.files import read_markdown
from ...markdown.parse import parse_markdown_text
from ...markdown.tree import blocks_to_tree, sections
from ...retrieve.library import Library
from ...retrieve.passages import Section
from ...retrieve.retriever import Retriever
from ...study.measures import section_address

NEAREST = 3  # sections of a group
SEARCHED = 3  # questions of a group that are searched for, the most central ones
LISTED = 5  # sections that a question gives a vote


@dataclass(frozen=True)
class NearSection:
    """A section that is near to a question.

    address: `file#anchor`; source: its file, from the project's root; line: that of its heading as the file is
    now; score: how near it is, from 0 to 1."""

    address: str
    titles: tuple[str, ...]
    source: str
    line: int
    score: float

    @property
    def title(self) -> str:
        """Its own title, or its file if it has none."""
        return self.titles[-1] if self.titles else self.source

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
    """Return groups with their nearest sections: those that were found when the questions were asked, or, for
    questions that the notes did not answer, those that are found now.

    Raise StoreError, ModelError and RetrieveError."""
    known = {section_address(section): section for section in (await library.material()).walk()}
    found = []
    for group in groups:
        votes = _recorded_votes(group, known) or await _searched_votes(library, group)
        best = sorted(votes, key=lambda address: (-votes[address], address))[:NEAREST]
        near = [places.find(known[address], round(votes[address], 3)) for address in best]
        found.append(GroupNearSections(group, tuple(near)))
    return found


def _recorded_votes(group: Group, known: Collection[str]) -> dict[str, float]:
    """Return how near sections are by what was found and cited when a group's questions were asked, from 0 to 1.

    known: the addresses of those that are still there."""
    votes: defaultdict[str, float] = defaultdict(float)
    for turn in group.turns:
        cited = {source.section for source in turn.sources if source.cited}
        for address, weight in found_sections(turn).items():
            votes[address] += 1.0 if address in cited else weight / 2
    return {address: number / len(group.turns) for address, number in votes.items() if address in known}


async def _searched_votes(library: Library, group: Group) -> dict[str, float]:
    """Return how near sections are by what is found for a group's most central questions, from 0 to 1."""
    votes: defaultdict[str, float] = defaultdict(float)
    asked = list(dict.fromkeys(turn.question for turn in group.turns))[:SEARCHED]
    for question in asked:
        ranked = (await Retriever(library).retrieve(question)).sections[:LISTED]
        for one in ranked:
            votes[section_address(one.section)] += one.score / (ranked[0].score or 1.0) / len(asked)
    return votes


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
            tree = blocks_to_tree(parse_markdown_text(read_markdown(self.root / source).text))
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
