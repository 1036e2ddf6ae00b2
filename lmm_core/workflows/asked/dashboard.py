"""The teacher's dashboard: what was asked, what the notes did not answer, and what nobody needed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from ...asked.figures import (
    Answerer,
    Period,
    Seconds,
    by_date,
    by_hour,
    count_answerers,
    count_conversations,
    count_outcomes,
    is_failure,
    measure_seconds,
)
from ...asked.groups import Group
from ...asked.turns import Outcome, RecordedTurn
from ...errors import ModelError
from ...models.names import parse_name
from ...models.sources import known_sources
from ...retrieve.library import Library
from ...retrieve.passages import Material
from ...settings.project import Project
from ...study.measures import section_address
from ...study.outline import course_title
from .groups import group_questions
from .nearest import NearSection, Places, find_nearest

FEWEST = 3  # conversations of a group that is shown
SHOWN = 40  # groups of a list
EXAMPLES = 6  # other questions of a group
LONGEST = 300  # characters of a question or a comment that are shown


@dataclass(frozen=True)
class ShownGroup:
    """A group of questions.

    name: its most central question; examples: others of its questions, the most central first; conversations: in
    how many it was asked (0 if they are not recorded); failed: how many of its questions were refused or partly
    answered, or judged with a thumb down; nearest: the sections that are nearest to it."""

    name: str
    examples: tuple[str, ...]
    questions: int
    conversations: int
    refused: int
    partly: int
    thumbs_down: int
    nearest: tuple[NearSection, ...]


@dataclass(frozen=True)
class GroupList:
    """Groups, the largest first. small, more: how many others there are that are too small, or too many to show."""

    groups: tuple[ShownGroup, ...]
    small: int
    more: int


@dataclass(frozen=True)
class SectionUse:
    """A section of the notes. cited: by how many answers; failed: those of them that did not help; found: how many
    searches listed it."""

    address: str
    titles: tuple[str, ...]
    place: str
    cited: int
    failed: int
    found: int


@dataclass(frozen=True)
class Comment:
    """A student's comment. thumb: 1 up, -1 down, 0 none; about: the question, if its group is shown, else ""."""

    text: str
    thumb: int
    about: str


@dataclass(frozen=True)
class Dashboard:
    """What is known of the questions of a course.

    unit: what `dates` counts; failures: groups of the questions that the notes did not answer well; subjects:
    groups of all; unneeded: sections that no answer cited; gone: how many cited sections are no longer there;
    fewest: conversations of a group that is shown."""

    title: str
    questions: int
    conversations: int
    outcomes: dict[Outcome, int]
    thumbs_up: int
    thumbs_down: int
    unit: str
    dates: tuple[Period, ...]
    hours: tuple[Period, ...]
    failures: GroupList
    subjects: GroupList
    sections: tuple[SectionUse, ...]
    unneeded: tuple[SectionUse, ...]
    gone: int
    comments: tuple[Comment, ...]
    first_word: Seconds | None
    seconds: Seconds | None
    answerers: tuple[Answerer, ...]
    fewest: int


async def make_dashboard(
    project: Project,
    library: Library,
    turns: Sequence[RecordedTurn],
    warn: Callable[[str], None],
    fewest: int = FEWEST,
    zone: tzinfo | None = None,
) -> Dashboard:
    """Return the dashboard of recorded questions.

    warn: is told what had to be done without; fewest: conversations of a group that is shown; zone: the time zone
    of dates and hours, None for that of this machine. Raise StoreError, ModelError and RetrieveError."""
    material, places = await library.material(), Places(project.root)
    failures, subjects = await group_questions(library, turns, warn)
    missing = await _show_groups(library, failures, places, fewest)
    about = await _show_groups(library, subjects, places, fewest)
    comments = _comments(turns, subjects, fewest)
    return await asyncio.to_thread(_count, project, material, turns, places, zone, missing, about, comments, fewest)


def _count(
    project: Project,
    material: Material,
    turns: Sequence[RecordedTurn],
    places: Places,
    zone: tzinfo | None,
    failures: GroupList,
    subjects: GroupList,
    comments: Sequence[Comment],
    fewest: int,
) -> Dashboard:
    """Return the dashboard with all that is counted."""
    used, gone = _count_sections(turns, material, places)
    unit, dates = by_date(turns, zone)
    return Dashboard(
        title=course_title(project.root),
        questions=len(turns),
        conversations=count_conversations(turns),
        outcomes=count_outcomes(turns),
        thumbs_up=sum(turn.thumb > 0 for turn in turns),
        thumbs_down=sum(turn.thumb < 0 for turn in turns),
        unit=unit,
        dates=tuple(dates),
        hours=tuple(by_hour(turns, zone)),
        failures=failures,
        subjects=subjects,
        sections=tuple(sorted((one for one in used if one.cited), key=lambda one: -one.cited)),
        unneeded=tuple(one for one in used if not one.cited),
        gone=gone,
        comments=tuple(comments),
        first_word=measure_seconds([turn.first_word for turn in turns]),
        seconds=measure_seconds([turn.seconds for turn in turns]),
        answerers=tuple(count_answerers(turns, _price(project))),
        fewest=fewest,
    )


async def _show_groups(library: Library, groups: Sequence[Group], places: Places, fewest: int) -> GroupList:
    large = [group for group in groups if group.size >= fewest]
    near = await find_nearest(library, large[:SHOWN], places)
    shown = tuple(_show_group(one.group, one.nearest) for one in near)
    return GroupList(shown, len(groups) - len(large), len(large) - len(shown))


def _show_group(group: Group, nearest: tuple[NearSection, ...]) -> ShownGroup:
    turns = group.turns
    others = dict.fromkeys(shorten(turn.question) for turn in turns)
    others.pop(shorten(group.name))
    return ShownGroup(
        shorten(group.name),
        tuple(others)[:EXAMPLES],
        len(turns),
        count_conversations(turns),
        sum(turn.outcome == "refused" for turn in turns),
        sum(turn.outcome == "partly" for turn in turns),
        sum(turn.thumb < 0 for turn in turns),
        nearest,
    )


def shorten(text: str) -> str:
    """Return what a student typed on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _count_sections(turns: Sequence[RecordedTurn], material: Material, places: Places) -> tuple[list[SectionUse], int]:
    """Return the sections with text of their own, in the order of the notes, and how many cited ones are gone."""
    cited, failed, found = Counter[str](), Counter[str](), Counter[str]()
    for turn in turns:
        found.update({source.section for source in turn.sources})
        own = {source.section for source in turn.sources if source.cited}
        cited.update(own)
        if is_failure(turn):
            failed.update(own)
    used: dict[str, SectionUse] = {}
    every = set()
    for section in material.walk():
        address = section_address(section)
        every.add(address)
        if section.passages and address not in used:
            place = f"{section.source}:{places.line(section)}"
            used[address] = SectionUse(address, section.titles, place, cited[address], failed[address], found[address])
    return list(used.values()), len(cited.keys() - every)


def _comments(turns: Sequence[RecordedTurn], groups: Sequence[Group], fewest: int) -> list[Comment]:
    """Return the comments, the latest first."""
    shown = {turn.id for group in groups if group.size >= fewest for turn in group.turns}
    said = [turn for turn in reversed(turns) if turn.comment.strip()]
    return [
        Comment(shorten(turn.comment), turn.thumb, shorten(turn.question) if turn.id in shown else "") for turn in said
    ]


def _price(project: Project) -> Callable[[str, int, int], float | None]:
    sources = known_sources(project.sources)

    def price(name: str, asked: int, answered: int) -> float | None:
        try:
            source = sources.get(parse_name(name, sources).source)
        except ModelError:  # it is no longer configured
            return None
        return source.money(asked, answered) if source else None

    return price
