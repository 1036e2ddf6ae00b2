"""Study plans: what to read and to solve in the time that a sentence names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..index.passages import Material, Passage, Section, place
from ..logging import counted, printable
from ..models.chat import Asker
from ..models.prompts import PLAN, Prompt, as_data
from ..models.replies import find_object
from ..models.tokens import count_tokens
from ..retrieve.items import EXERCISE, SOLUTION, TOPIC, TypedPart, typed_parts_under
from ..retrieve.library import Library
from ..retrieve.plain_text import plain_title
from ..retrieve.ranking.words import keyword_form
from ..retrieve.search import find_candidates
from .outline import WIDTH, main_section, reading_minutes, show_minutes, wrap
from .study_time import SESSION, StudyTime, read_time

EXERCISE_MINUTES = 10  # for each, including its solution; our choice
HITS = 10  # passages for each topic that a sentence names
MOST_TOKENS = 8_000  # of the outline that a model is shown
_ONLY = re.compile(
    r"\b(?:only|just|about|nur|bloß|über|zu[rm]?|seulement|uniquement|sur|solo|soltanto|solamente|sólo|únicamente|sobre|su)\b"
    r"(?P<topics>.*)",
    re.I | re.S,
)
_BETWEEN = re.compile(r"\s*(?:[,;.!?&]|\b(?:and|or|und|oder|et|ou|e|ed|o|y)\b)\s*", re.I)


@dataclass(frozen=True)
class Step:
    """What is read at once: a section right below a document, or the text before the first of them.

    minutes: of reading, and `EXERCISE_MINUTES` for each of the `exercises`; topics: those of
    the examination, as text."""

    id: str
    document: str
    title: str
    place: str
    minutes: float
    exercises: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Session:
    """Steps for one sitting, with a word of advice ("" without a model)."""

    steps: tuple[Step, ...]
    advice: str = ""

    @property
    def minutes(self) -> float:
        """The minutes that it takes."""
        return sum(step.minutes for step in self.steps)


@dataclass(frozen=True)
class StudyPlan:
    """A plan of sessions for the time that there is.

    about: the topics that the plan is limited to, or none; left_out: the titles of steps that
    a model left out; by: the model, or ""."""

    time: StudyTime
    sessions: tuple[Session, ...]
    about: tuple[str, ...] = ()
    advice: str = ""
    left_out: tuple[str, ...] = ()
    by: str = ""

    @property
    def minutes(self) -> float:
        """The minutes that all sessions take."""
        return sum(session.minutes for session in self.sessions)


@dataclass
class Planner:
    """Makes study plans.

    asker: the model that may arrange the sessions; warn: told if it fails, in which case the
    sections are divided in their order."""

    library: Library
    asker: Asker | None = None
    warn: Callable[[str], None] = lambda message: None
    prompt: Prompt = PLAN

    async def plan(self, wish: str) -> StudyPlan:
        """Return a plan for a wish such as `I have three evenings before the exam`.

        Raise StoreError, RetrieveError, or ModelError if the search has no model for embedding."""
        time = read_time(wish)
        steps = list(make_steps(await self.library.material()))
        about = find_topics(time.rest, self.library.language)
        if about:
            steps, about = await self._keep(steps, about)
        plan = StudyPlan(time, divide(steps, time), about)
        return await self._ask(wish, plan, steps) if self.asker else plan

    async def _keep(self, steps: list[_Placed], topics: Sequence[str]) -> tuple[list[_Placed], tuple[str, ...]]:
        """Return the steps in which something is found for some topics, and the topics found.

        All steps are returned if nothing is found."""
        found = (await find_candidates(self.library, topics, limit=HITS)).by_text()
        for topic, hits in zip(topics, found, strict=True):
            if not hits:
                self.warn(f"nothing was found about {topic!r}")
        ids = {passage.id for hits in found for passage in hits}
        kept = [one for one in steps if not ids.isdisjoint(one.passages)]
        return kept or steps, tuple(topic for topic, hits in zip(topics, found, strict=True) if hits)

    async def _ask(self, wish: str, plan: StudyPlan, steps: Sequence[_Placed]) -> StudyPlan:
        assert self.asker is not None
        known = {f"s{number}": one.step for number, one in enumerate(steps, 1)}
        outline = "\n".join(_for_model(name, step) for name, step in known.items())
        if (tokens := count_tokens(outline)) > MOST_TOKENS:
            self.warn(f"planned without a model: the outline has {tokens:,} tokens, more than {MOST_TOKENS:,}")
            return plan
        values = {"outline": as_data(outline), "wish": as_data(wish[:2_000]), "time": _for_reader(plan)}
        try:
            reply = await self.asker.ask(self.prompt.request(values), lambda text: _read_reply(text, known))
        except ModelError as error:
            self.warn(f"planned without a model: {error}")
            return plan
        for message in reply.notes:
            self.warn(message)
        left = tuple(step.title for step in known.values() if step.id not in reply.used)
        return StudyPlan(plan.time, reply.sessions, plan.about, reply.advice, left, self.asker.model.name)


# Steps


@dataclass(frozen=True)
class _Placed:
    """A step with the ids of its passages."""

    step: Step
    passages: frozenset[str]


def make_steps(material: Material) -> Iterator[_Placed]:
    """Yield the steps of a material, in its order."""
    for document in material.documents:
        inner = main_section(document)
        title = plain_title(inner.title)
        before = [*document.passages, *(inner.passages if inner is not document else [])]
        if before:
            own = [item for item in typed_parts_under(inner) if item.section is inner]
            yield _step(inner, title, title, before, own)
        for child in inner.children:
            yield _step(child, title, plain_title(child.title), child.all_passages(), typed_parts_under(child))


def _step(
    section: Section, document: str, title: str, passages: Sequence[Passage], items: Sequence[TypedPart]
) -> _Placed:
    exercises = [item for item in items if item.kind == EXERCISE]
    solved = {passage.id for item in exercises for passage in item.passages}
    read = [passage for passage in passages if passage.id not in solved and SOLUTION not in passage.kinds]
    names = tuple(plain_title(item.title) or title for item in exercises)
    topics = tuple(item.text for item in items if item.kind == TOPIC)
    where = place(section.source, passages[0].line_start, max(one.line_end for one in passages))
    step = Step(
        section.name, document, title, where,
        reading_minutes(read) + EXERCISE_MINUTES * len(exercises), names, topics,
    )  # fmt: skip
    return _Placed(step, frozenset(passage.id for passage in passages))


def divide(steps: Sequence[_Placed], time: StudyTime) -> tuple[Session, ...]:
    """Return the steps in their order, in sessions that take about the same time.

    There are as many sessions as the time has, or sessions of two hours if it names none."""
    total = sum(one.step.minutes for one in steps)
    count = min(time.sessions or max(-(-int(total) // SESSION), 1), max(len(steps), 1))
    sessions: list[list[Step]] = [[] for _ in range(count)]
    done = 0.0
    for number, one in enumerate(steps):
        middle = (done + one.step.minutes / 2) / total if total else number / len(steps)
        sessions[min(int(middle * count), count - 1)].append(one.step)
        done += one.step.minutes
    return tuple(Session(tuple(session)) for session in sessions if session)


def find_topics(sentence: str, language: str = "") -> tuple[str, ...]:
    """Return the topics that a sentence limits the plan to.

    They follow `only`, `about`, `nur`, `sur` and the like. The sentence is without its time."""
    found = _ONLY.search(sentence)
    if not found:
        return ()
    topics = _topics(found["topics"], language)
    return topics or find_topics(found["topics"], language)


def _topics(text: str, language: str) -> tuple[str, ...]:
    parts = (_ONLY.sub(lambda found: found["topics"], part) for part in _BETWEEN.split(text))
    forms = (keyword_form(part, language).strip() for part in parts if re.search(r"\w{3}", part))
    return tuple(dict.fromkeys(form for form in forms if form))


# The model


@dataclass(frozen=True)
class _Reply:
    """The plan in a model's reply; `notes` say what was dropped from it."""

    sessions: tuple[Session, ...]
    advice: str
    used: frozenset[str]
    notes: tuple[str, ...]


def _for_model(name: str, step: Step) -> str:
    exercises = f"; exercises: {len(step.exercises)}" if step.exercises else ""
    topics = "; topics of the examination" if step.topics else ""
    return f"{name} | {step.document} > {step.title} | {show_minutes(step.minutes)}{exercises}{topics}"


def _for_reader(plan: StudyPlan) -> str:
    """Return the figures of a plan as a sentence for the model."""
    time = plan.time
    there = f"{time.sessions} × {show_minutes(time.minutes)} ({time.understood})" if time.sessions else "not said"
    return f"time that there is: {there}; all sections together: {show_minutes(plan.minutes)}"


def _read_reply(text: str, known: Mapping[str, Step]) -> _Reply:
    """Return a model's plan with the known sections alone, each once.

    Raise ModelError if nothing is left."""
    try:
        found = find_object(text)
        planned = [(_names(one["sections"]), _line(one.get("advice"))) for one in found["sessions"]]
    except (ModelError, KeyError, TypeError, AttributeError):
        raise ModelError("the reply holds no plan") from None
    used: set[str] = set()
    unknown: Counter[str] = Counter()
    sessions = []
    for names, advice in planned:
        unknown.update(name for name in names if name not in known)
        chosen = [name for name in dict.fromkeys(names) if name in known and name not in used]
        used.update(chosen)
        sessions += [Session(tuple(known[name] for name in chosen), advice)] if chosen else []
    if not sessions:
        raise ModelError("the reply plans no section of the material")
    notes = [f"the model's plan names a section that does not exist: {name[:40]!r}" for name in unknown]
    ids = frozenset(known[name].id for name in used)
    return _Reply(tuple(sessions), _line(found.get("advice")), ids, tuple(notes))


def _names(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


# As text


def show_plan(plan: StudyPlan, width: int = WIDTH) -> str:
    """Return a plan as text: each session with its steps, their times, exercises and topics."""
    lines = [wrap(part, "", width) for part in [_summary(plan), _fit(plan), printable(plan.advice)] if part]
    for number, session in enumerate(plan.sessions, 1):
        name = f"{plan.time.unit.capitalize()} {number}"
        lines += ["", f"{name}: {show_minutes(session.minutes)}"]
        lines += [wrap(printable(session.advice), "  ", width)] if session.advice else []
        lines += _show_steps(session.steps, width)
    if plan.left_out:
        lines += ["", wrap(f"Not in this plan: {'; '.join(plan.left_out)}", "", width)]
    return "".join(f"{line}\n" for line in lines)


def _summary(plan: StudyPlan) -> str:
    """Return a sentence that says which time and topics were understood."""
    time = plan.time
    if time.sessions:
        count = counted(time.sessions, time.unit)
        understood = f"Understood “{time.understood}” as {count} of {show_minutes(time.minutes)}."
    else:
        understood = f"The sentence names no time: sessions of about {show_minutes(SESSION)}."
    about = " and ".join(f"“{topic}”" for topic in plan.about)
    return f"{understood}{f' Only where something about {about} is found.' if about else ''}"


def _fit(plan: StudyPlan) -> str:
    steps = [step for session in plan.sessions for step in session.steps]
    count = sum(len(step.exercises) for step in steps)
    exercises = f", {counted(count, 'exercise')} at {EXERCISE_MINUTES} min" if count else ""
    needed = f"{show_minutes(plan.minutes)} of work: {counted(len(steps), 'section')}{exercises}."
    there = plan.time.sessions * plan.time.minutes
    over = plan.minutes - there
    return f"{needed} This is {show_minutes(over)} more than there is." if there and over >= 1 else needed


def _show_steps(steps: Sequence[Step], width: int) -> Iterator[str]:
    margin = max(len(show_minutes(step.minutes)) for step in steps)
    document = ""
    for step in steps:
        if step.document != document:
            document = step.document
            yield f"  {document}  ({step.place.rpartition(':')[0]})"
        alone = sum(one.document == document for one in steps) == 1
        title = step.title if step.title != document else "(all of it)" if alone else "(beginning)"
        yield f"    {show_minutes(step.minutes):>{margin}}  {title}{_mark(step)}"
        indent = " " * (margin + 8)
        yield from (f"{indent}{name}  [exercise]" for name in step.exercises if name != step.title)
        yield from (wrap(f"exam: {plain_title(topic)}", indent, width) for topic in step.topics)


def _mark(step: Step) -> str:
    return "  [exercise]" if step.title in step.exercises else ""
