"""Summarize students' questions: which were not answered, and which sections were never cited."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ...indexing.passages import Section, section_address
from ...retrieve.library import Library
from ...retrieve.search import Retriever
from ..outline import course_title
from .grouping import FEWEST, QuestionGroup
from .proposals import group_failures
from .turns import Outcome, RecordedTurn, found_sections, is_failure

SHOWN = 40  # groups of a list
EXAMPLES = 6  # other questions of a group
NEAREST = 3  # sections of a group
LONGEST = 300  # characters shown of a question or comment


@dataclass(frozen=True)
class ShownSection:
    """A section of the notes. cited: number of answers citing it."""

    address: str
    title: str
    place: str
    cited: int


@dataclass(frozen=True)
class ShownGroup:
    """A group of questions.

    name: most central question
    conversations: 0 if not recorded
    failed: number of questions not answered well"""

    name: str
    examples: tuple[str, ...]
    questions: int
    conversations: int
    failed: int
    nearest: tuple[ShownSection, ...]


@dataclass(frozen=True)
class Comment:
    """A student's comment. thumb: 1 up, -1 down, 0 none."""

    text: str
    thumb: int


@dataclass(frozen=True)
class AskedOverview:
    """An overview of a course's questions.

    first, last: days
    failures: groups of questions not answered well
    subjects: all groups
    small: number of groups with too few conversations to show
    sections: those with text"""

    title: str
    questions: int
    conversations: int
    first: str
    last: str
    outcomes: dict[Outcome, int]
    thumbs_down: int
    failures: tuple[ShownGroup, ...]
    subjects: tuple[ShownGroup, ...]
    small: int
    fewest: int
    sections: tuple[ShownSection, ...]
    comments: tuple[Comment, ...]


async def make_overview(
    root: Path, library: Library, turns: Sequence[RecordedTurn], fewest: int = FEWEST
) -> AskedOverview:
    """Return the overview.

    fewest: conversations of a group that is shown
    Raise StoreError, ModelError and RetrieveError."""
    failures, subjects = await group_failures(library, turns)
    cited = Counter(source.section for turn in turns for source in turn.sources if source.cited)
    shown: dict[str, ShownSection] = {}
    for section in (await library.material()).walk():
        address = section_address(section)
        if section.passages and address not in shown:
            shown[address] = ShownSection(address, _title(section), section.place, cited[address])
    days, outcomes = [turn.hour[:10] for turn in turns], Counter(turn.outcome for turn in turns)
    return AskedOverview(
        title=course_title(root),
        questions=len(turns),
        conversations=_count_conversations(turns),
        first=min(days, default=""),
        last=max(days, default=""),
        outcomes={outcome: outcomes[outcome] for outcome in get_args(Outcome)},
        thumbs_down=sum(turn.thumb < 0 for turn in turns),
        failures=await _show(library, failures, shown, fewest),
        subjects=await _show(library, subjects, shown, fewest),
        small=sum(group.size < fewest for group in (*failures, *subjects)),
        fewest=fewest,
        sections=tuple(shown.values()),
        comments=tuple(Comment(shorten(one.comment), one.thumb) for one in reversed(turns) if one.comment.strip()),
    )


def _title(section: Section) -> str:
    return " › ".join(section.titles[-2:]) or section.source


def _count_conversations(turns: Sequence[RecordedTurn]) -> int:
    return len({turn.conversation for turn in turns if turn.conversation})


async def _show(
    library: Library, groups: Sequence[QuestionGroup], sections: Mapping[str, ShownSection], fewest: int
) -> tuple[ShownGroup, ...]:
    shown = []
    for group in [one for one in groups if one.size >= fewest][:SHOWN]:
        votes = _recorded_votes(group, sections) or await _searched_votes(library, group)
        best = sorted(votes, key=lambda address: (-votes[address], address))
        near = tuple(sections[address] for address in best if address in sections)[:NEAREST]
        others = dict.fromkeys(shorten(turn.question) for turn in group.turns)
        others.pop(shorten(group.name))
        failed = sum(map(is_failure, group.turns))
        name, conversations = shorten(group.name), _count_conversations(group.turns)
        shown.append(ShownGroup(name, tuple(others)[:EXAMPLES], len(group.turns), conversations, failed, near))
    return tuple(shown)


def _recorded_votes(group: QuestionGroup, sections: Mapping[str, ShownSection]) -> dict[str, float]:
    votes: defaultdict[str, float] = defaultdict(float)
    for turn in group.turns:
        cited = {source.section for source in turn.sources if source.cited}
        for address, weight in found_sections(turn).items():
            if address in sections:
                votes[address] += 1.0 if address in cited else weight / 2
    return votes


async def _searched_votes(library: Library, group: QuestionGroup) -> dict[str, float]:
    ranked = (await Retriever(library).retrieve(group.name)).sections
    return {section_address(one.section): one.score for one in ranked}


def shorten(text: str) -> str:
    """Return a student's text on one line, truncated."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
