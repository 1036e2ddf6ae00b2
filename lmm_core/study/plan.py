"""Plan study sessions for the time and topic in a sentence: `three evenings`, `zwei Stunden am Tag on residuals`.

Times are understood in English, German, French, Italian and Spanish by single words (study_time.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import NamedTuple

from ..indexing.passages import Key, Material, Passage, Section
from ..logging import counted
from ..retrieve.items import EXERCISE, SOLUTION, TypedPart, typed_parts_under
from ..retrieve.library import Library
from ..retrieve.plain_text import plain_title
from ..retrieve.search import Retriever
from .outline import WIDTH, main_section, reading_minutes, show_minutes, wrap

SESSION = 120  # minutes at most, if only a number of hours is given
MOST_SESSIONS = 366


class _TimeUnit(NamedTuple):
    name: str
    sessions: int  # 0: minutes are the total
    minutes: int


_TABLES = tomllib.loads(Path(__file__).with_name("study_time.toml").read_text("utf-8"))
_UNITS = {
    word: _TimeUnit(unit["name"], unit["sessions"], unit["minutes"])
    for unit in _TABLES["unit"]
    for word in unit["words"].split()
}
_NUMBERS = {word: float(number) for number, words in _TABLES["numbers"].items() for word in words.split()}
_ALONE, _AMONG, _EACH, _UNTIL = (
    frozenset(_TABLES["words"][name].split()) for name in ("alone", "among", "each", "until")
)
_WORD = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\w\s]")


@dataclass(frozen=True)
class StudyTime:
    """The time that a sentence gives for studying.

    sessions: 0 if it gives no time; minutes: length of each session; unit: evening, day, session …
    understood: the words that name the time; rest: the other words"""

    sessions: int
    minutes: float
    unit: str
    understood: str
    rest: str


class _NamedTime(NamedTuple):
    """A time named by words[start:end]. number: 0 if they only say how hours are meant (`a day`)."""

    unit: _TimeUnit
    number: float
    start: int
    end: int


def read_time(sentence: str) -> StudyTime:
    """Return the time in a sentence.

    Hours beside days (`two hours a day`) are the length of a session; hours alone are divided into sessions."""
    words = _WORD.findall(sentence[:2_000])
    named = [time for at in range(len(words)) if (time := _time_at(words, at)) is not None]
    # "in three weeks" is a deadline if another time is given
    named = [time for time in named if not (time.start and words[time.start - 1].lower() in _UNTIL)] or named
    naming = {at for time in named for at in range(time.start, time.end)}
    understood = ", ".join(" ".join(words[time.start : time.end]) for time in named)
    rest = " ".join(word for at, word in enumerate(words) if at not in naming)
    days = [time for time in named if time.unit.sessions]
    minutes = sum(time.number * time.unit.minutes for time in named if not time.unit.sessions)
    if any(time.number for time in days) or (days and minutes):
        count = sum(time.number * time.unit.sessions for time in days) or 1.0
        unit = next((time.unit for time in days if not time.number), days[0].unit)
        length = (minutes or unit.minutes) * min(count, 1)
        return StudyTime(min(max(int(count), 1), MOST_SESSIONS), length, unit.name, understood, rest)
    count = min(-(-int(minutes) // SESSION), MOST_SESSIONS)
    return StudyTime(int(count), minutes / count if count else 0, "session", understood, rest)


def _time_at(words: Sequence[str], at: int) -> _NamedTime | None:
    unit = _UNITS.get(words[at].lower())
    if unit is None:
        return None
    before = words[at - 1].lower() if at else ""
    is_after_hours = at > 1 and words[at - 2].lower() in _UNITS and before in ("a", "an", "the")  # two hours a day
    if unit.sessions and (before in _EACH or is_after_hours):
        return _NamedTime(unit, 0, at - 1, at + 1)
    start = at - 1 if at > 1 and before in _AMONG else at  # three whole days
    number = _number(words[start - 1]) if start else 0
    if not number and words[at].lower() not in _ALONE:
        return None
    return _NamedTime(unit, number or 1, start - bool(number), at + 1)


def _number(word: str) -> float:
    if word[0].isdecimal():
        return float(word.replace(",", "."))
    return _NUMBERS.get(word.lower(), 0)


# Plan


EXERCISE_MINUTES = 10  # for an exercise and its solution; an estimate
NEAR = 0.3  # share of the best score for a match
PAGE = 40  # lines
NAMED = 12  # sections named as left out
_ABOUT = re.compile(
    r"\b(?:only|just|about|on|nur|bloß|über|zu[rm]?|seulement|uniquement|sur|solo|soltanto|solamente|sólo|únicamente|sobre|su)\b"
    r"(?P<topic>.*)",
    re.I | re.S,
)


@dataclass(frozen=True)
class Step:
    """A unit of reading: a top section of a document, or the text before these.

    minutes: with `EXERCISE_MINUTES` for each exercise"""

    id: str
    document: str
    title: str
    place: str
    minutes: float
    exercises: int = 0


@dataclass(frozen=True)
class StudyPlan:
    """A plan of sessions within the available time.

    topic: "" for all sections; left_out: for lack of time; problems: sentences about unmet wishes"""

    time: StudyTime
    topic: str
    sessions: tuple[tuple[Step, ...], ...]
    left_out: tuple[Step, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def minutes(self) -> float:
        return sum(step.minutes for session in self.sessions for step in session)


async def make_plan(library: Library, wish: str) -> StudyPlan:
    """Return a plan for a wish such as `two hours on residuals`. Raise StoreError, RetrieveError and ModelError."""
    time, material = read_time(wish), await library.material()
    steps = list(make_steps(material))
    topic, problems = find_topic(time.rest), list[str]()
    if not time.sessions:
        topic = topic or time.rest
        problems.append(f"No time was given: sessions last at most {show_minutes(SESSION)}.")
    steps_in_turn = _in_turn(steps)
    chosen = await _steps_about(library, topic, steps) if topic else steps_in_turn
    if not chosen:
        problems.append(f"Nothing was found about “{topic}”: this is a plan of all sections.")
        chosen, topic = steps_in_turn, ""
    available = time.sessions * time.minutes
    fitting = _ids_fitting(chosen, available)
    left_out = tuple(step for step in chosen if step.id not in fitting)
    if left_out:
        problems.append(f"There is no time for {counted(len(left_out), 'section')} ({show_minutes(_sum(left_out))}).")
    elif topic and available > 2 * _sum(chosen):
        problems.append(f"The notes have only {show_minutes(_sum(chosen))} about “{topic}”.")
    planned = [step for step, _ in steps if step.id in fitting]
    return StudyPlan(time, topic, divide(planned, time), left_out, tuple(problems))


def _ids_fitting(steps: Sequence[Step], available: float) -> set[str]:
    """Return the ids of the steps that fit into the available minutes (0: no limit), at least the first."""
    ids, minutes = set[str](), 0.0
    for step in steps:
        if not available or minutes + step.minutes <= available:
            ids.add(step.id)
            minutes += step.minutes
    return ids or {step.id for step in steps[:1]}


async def _steps_about(library: Library, topic: str, steps: Sequence[tuple[Step, set[Key]]]) -> list[Step]:
    ranked = (await Retriever(library).retrieve(topic)).sections
    near = [hit.section.key for hit in ranked if hit.score > 0 and hit.score >= NEAR * ranked[0].score]
    places = {step.id: min(map(near.index, keys & set(near)), default=-1) for step, keys in steps}
    return sorted((step for step, _ in steps if places[step.id] >= 0), key=lambda step: places[step.id])


def _in_turn(steps: Sequence[tuple[Step, set[Key]]]) -> list[Step]:
    """Return steps round-robin over documents, so that a short plan covers each."""
    documents = [list(own) for _, own in groupby((step for step, _ in steps), key=lambda step: step.document)]
    return [step for row in zip_longest(*documents) for step in row if step is not None]


def make_steps(material: Material) -> Iterator[tuple[Step, set[Key]]]:
    """Yield all steps in order, each with the keys of its sections."""
    for document in material.documents:
        inner = main_section(document)
        title = plain_title(inner.title)
        before = [*document.passages, *(inner.passages if inner is not document else [])]
        if before:
            own = [item for item in typed_parts_under(inner) if item.section is inner]
            yield _step(inner, title, title, before, own), {document.key, inner.key}
        for child in inner.children:
            step = _step(child, title, plain_title(child.title), child.all_passages(), typed_parts_under(child))
            yield step, {section.key for section in child.walk()}


def _step(section: Section, document: str, title: str, passages: Sequence[Passage], items: Sequence[TypedPart]) -> Step:
    exercises = [item for item in items if item.type == EXERCISE]
    solved = {passage.id for item in exercises for passage in item.passages}
    read = [passage for passage in passages if passage.id not in solved and SOLUTION not in passage.types]
    minutes = reading_minutes(read) + EXERCISE_MINUTES * len(exercises)
    return Step(section.name, document, title, section.place, minutes, len(exercises))


def divide(steps: Sequence[Step], time: StudyTime) -> tuple[tuple[Step, ...], ...]:
    """Return steps in order, divided into sessions of similar length, by default about two hours."""
    total = _sum(steps)
    count = min(time.sessions or max(-(-int(total) // SESSION), 1), max(len(steps), 1))
    sessions: list[list[Step]] = [[] for _ in range(count)]
    done = 0.0
    for number, step in enumerate(steps):
        middle = (done + step.minutes / 2) / total if total else number / len(steps)
        sessions[min(int(middle * count), count - 1)].append(step)
        done += step.minutes
    return tuple(tuple(session) for session in sessions if session)


def find_topic(sentence: str) -> str:
    """Return the text after the last `only`, `about`, `nur`, `sur` or the like in a sentence, or ""."""
    about = _ABOUT.search(sentence)
    if not about:
        return ""
    return find_topic(about["topic"]) or " ".join(re.findall(r"[\w'’+#-]+", about["topic"]))


def _sum(steps: Sequence[Step]) -> float:
    return sum(step.minutes for step in steps)


# As text


def show_plan(plan: StudyPlan, width: int = WIDTH) -> str:
    """Return a plan as text, problems first. If longer than a page, it lists only documents."""
    lines = [wrap(problem, "", width) for problem in plan.problems]
    time, about = plan.time, f" about “{plan.topic}”" if plan.topic else ""
    understood = (
        f" Understood “{time.understood}” as {counted(time.sessions, time.unit)} of {show_minutes(time.minutes)}."
    )
    lines.append(wrap(f"{show_minutes(plan.minutes)} of work{about}.{understood if time.sessions else ''}", "", width))
    whole, short = ([*_show_sessions(plan, show, width)] for show in (_show_documents, _list_documents))
    lines += whole if "\n".join(whole).count("\n") < PAGE else short
    if plan.left_out:
        titles = [step.title for step in plan.left_out]
        more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
        lines += ["", wrap(f"Without time: {'; '.join(titles[:NAMED])}{more}", "", width)]
    return "".join(f"{line}\n" for line in lines)


def _show_sessions(plan: StudyPlan, show: Callable[[Sequence[Step], int], Iterable[str]], width: int) -> Iterator[str]:
    for number, session in enumerate(plan.sessions, 1):
        yield ""
        yield f"{plan.time.unit.capitalize()} {number}: {show_minutes(_sum(session))}"
        yield from show(session, width)


def _by_document(session: Sequence[Step]) -> Iterator[list[Step]]:
    return (list(steps) for _, steps in groupby(session, key=lambda step: step.document))


def _show_documents(session: Sequence[Step], width: int) -> Iterator[str]:
    for steps in _by_document(session):
        exercises, document = sum(step.exercises for step in steps), steps[0].document
        solve = f", with {counted(exercises, 'exercise')}" if exercises else ""
        yield f"  {document}  ({steps[0].place.rpartition(':')[0]}): {show_minutes(_sum(steps))}{solve}"
        if titles := [step.title for step in steps if step.title != document]:
            yield wrap("; ".join(titles), "    ", width)


def _list_documents(session: Sequence[Step], width: int) -> Iterator[str]:
    documents = (f"{steps[0].document} ({show_minutes(_sum(steps))})" for steps in _by_document(session))
    yield wrap("; ".join(documents), "  ", width)
