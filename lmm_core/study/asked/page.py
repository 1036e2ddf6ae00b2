"""Summarize students' questions, on an HTML page that needs neither scripts nor network."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import get_args

from ...files.outputs import GENERATOR
from ...logging import counted, printable
from ...retrieve.library import Library
from ...retrieve.search import Retriever
from ..outline import course_title
from .grouping import FEWEST, QuestionGroup
from .proposals import group_failures, quoted_line
from .recordings import Outcome, RecordedTurn, found_sections, is_failure

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
    """A group of questions. name: the most central; conversations: 0 if not recorded; failed: number answered badly."""

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

    first, last: days; sections: with text; subjects: all groups; failures: groups of questions not answered well
    small: number of groups with too few conversations to show"""

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
    """Return the overview. fewest: conversations of a shown group. Raise StoreError, ModelError and RetrieveError."""
    failures, subjects = await group_failures(library, turns)
    cited = Counter(source.section for turn in turns for source in turn.sources if source.cited)
    shown: dict[str, ShownSection] = {}
    for section in (await library.material()).walk():
        address = section.address
        if section.passages and address not in shown:
            title = " › ".join(section.titles[-2:]) or section.source
            shown[address] = ShownSection(address, title, section.place, cited[address])
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
        comments=tuple(
            Comment(quoted_line(turn.comment, LONGEST), turn.thumb) for turn in reversed(turns) if turn.comment.strip()
        ),
    )


def _count_conversations(turns: Sequence[RecordedTurn]) -> int:
    return len({turn.conversation for turn in turns if turn.conversation})


async def _show(
    library: Library, groups: Sequence[QuestionGroup], sections: Mapping[str, ShownSection], fewest: int
) -> tuple[ShownGroup, ...]:
    shown = []
    for group in [group for group in groups if group.size >= fewest][:SHOWN]:
        votes = _recorded_votes(group, sections) or await _searched_votes(library, group)
        best = sorted(votes, key=lambda address: (-votes[address], address))
        near = tuple(sections[address] for address in best if address in sections)[:NEAREST]
        others = dict.fromkeys(quoted_line(turn.question, LONGEST) for turn in group.turns)
        others.pop(quoted_line(group.name, LONGEST))
        failed = sum(map(is_failure, group.turns))
        name, conversations = quoted_line(group.name, LONGEST), _count_conversations(group.turns)
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
    return {hit.section.address: hit.score for hit in ranked}


# Page


MOST_COMMENTS = 200
NOTHING = '<p class="none">Nothing so far.</p>'
_FOLDER = Path(__file__).parent


def asked_page(overview: AskedOverview) -> str:
    """Return the page as self-contained HTML."""
    failures = [f'<li class="failed">{_group(group, group.failed)}</li>' for group in overview.failures]
    subjects = [f"<li>{_group(group, group.questions)}</li>" for group in overview.subjects]
    return Template(_read("page.html")).substitute(
        generator=GENERATOR,
        style=_read("page.css"),
        title=_text(overview.title),
        lead=_text(lead(overview)),
        failures=_list("ol", "groups", failures),
        subjects=_list("ol", "groups", subjects),
        unneeded=_unneeded([section for section in overview.sections if not section.cited]),
        comments=_list("ul", "comments", map(_comment, overview.comments[:MOST_COMMENTS])),
        hidden=_hidden(overview),
    )


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(printable(text))


def _asked(tag: str, text: str) -> str:
    """Return a student's text in an element, for either writing direction."""
    return f'<{tag} dir="auto">{_text(text)}</{tag}>'


def lead(overview: AskedOverview) -> str:
    """Return the numbers and outcomes of the questions in a sentence."""
    asked_in = f" in {counted(overview.conversations, 'conversation')}" if overview.conversations else ""
    failed = overview.outcomes["refused"] + overview.outcomes["partly"]
    return (
        f"{counted(overview.questions, 'question')}{asked_in}, {overview.first} to {overview.last}: "
        f"{overview.outcomes['answered'] / overview.questions:.0%} answered, {failed / overview.questions:.0%} not or "
        f"in part, {counted(overview.thumbs_down, 'thumb')} down"
    )


def _list(tag: str, name: str, parts: Iterable[str]) -> str:
    items = "".join(parts)
    return f'<{tag} class="{name}">{items}</{tag}>' if items else NOTHING


def _group(group: ShownGroup, count: int) -> str:
    asked = f"in {counted(group.conversations, 'conversation')}, " if group.conversations else ""
    others = "".join(_asked("li", question) for question in group.examples)
    near = "".join(
        f'<li><span>{_text(section.title)}</span> <span class="place">{_text(section.place)}</span></li>'
        for section in group.nearest
    )
    return (
        f'<p class="count">{count:,}<span>{"time" if count == 1 else "times"}</span></p><div>'
        f'{_asked("h3", group.name)}<p class="how">{asked}{group.failed:,} of {group.questions:,} not answered well</p>'
        + (f"<details><summary>Also asked as</summary><ul>{others}</ul></details>" if others else "")
        + (f'<ul class="near">{near}</ul>' if near else "")
        + "</div>"
    )


def _unneeded(sections: Sequence[ShownSection]) -> str:
    if not sections:
        return '<p class="none">Each section was cited by an answer at least once.</p>'
    parts = []
    for file, own in groupby(sections, key=lambda section: section.place.rpartition(":")[0]):
        titles = _list("ul", "plain", (f"<li>{_text(section.title)}</li>" for section in own))
        parts.append(f"<div><h3>{_text(file)}</h3>{titles}</div>")
    return "".join(parts)


def _comment(comment: Comment) -> str:
    kind, thumb = {1: ("up", "Thumb up"), -1: ("down", "Thumb down")}.get(comment.thumb, ("", "No thumb"))
    return f'<li class="{kind}">{_asked("p", comment.text)}<p class="how">{thumb}</p></li>'


def _hidden(overview: AskedOverview) -> str:
    if overview.fewest <= 1:
        return "All groups are shown, also those that only one student asked about."
    what = "conversations" if overview.conversations else "questions"
    groups = "1 group" if overview.small == 1 else f"{overview.small:,} groups"
    return f"{groups} of fewer than {overview.fewest} {what} not shown, because they might tell who asked."
