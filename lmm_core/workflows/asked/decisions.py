"""What is to be done about groups of questions: an edit where the notes lack something, questions where they were
only not found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...asked.exports import answering_section
from ...asked.figures import is_failure
from ...asked.groups import Group, count_askers
from ...asked.requests import quoted_line, quoted_questions
from ...asked.turns import RecordedTurn
from ...errors import GateError
from ...models.annotators.annotator import AnnotatorSection
from ...models.gate.questions import QuestionGate, UnsureError
from ...retrieve.items import DEFINITION, kind_of
from ...retrieve.library import Library
from ...retrieve.passages import Key, Material, Passage, Section
from ...retrieve.ranking.lexical import LexicalIndex
from ...retrieve.retriever import Retriever
from ...study.measures import section_address
from .subjects import SubjectFinder, SubjectWords

ANSWERED = 0.5  # of the questions with the same meaning: from here on, the notes answer it
# Of a subject, by how rare its words are, the share that a section has which answers it in other words, or
# which an edit shall change although the notes lack some of the words.
NEAR, HELD = 0.3, 0.5
SEARCHED = 20  # questions of a group that are searched for
NEIGHBOURS = 3  # sections that are named in a request
QUESTIONS = 3  # that are proposed for a section

Kind = Literal["edit", "section", "questions"]  # change a section, write a new one, make one found


@dataclass(frozen=True)
class Decision:
    """What is to be done about some groups of questions.

    groups: their numbers, from 1; kind: see `Kind`; section: the one to change, or to find; for a new one, the one
    nearest to it, at the end of whose document it shall stand; turns: those that were not answered, the most
    central first; asked: what they ask, as it is quoted; neighbours: the sections nearest to them."""

    groups: tuple[int, ...]
    kind: Kind
    section: Section
    subject: SubjectWords
    turns: tuple[RecordedTurn, ...]
    asked: tuple[str, ...]
    neighbours: tuple[Section, ...] = ()

    @property
    def name(self) -> str:
        """The most central question, on one line."""
        return self.asked[0]

    @property
    def what(self) -> str:
        """What is proposed, in words."""
        words = {"edit": "change", "section": "a new section, near", "questions": "questions for"}
        return f"{words[self.kind]} {name_of(self.section)}"

    @property
    def conversations(self) -> int:
        """The number of conversations in which it was asked."""
        return count_askers(self.turns)


@dataclass(frozen=True)
class Undecided:
    """A group about which nothing can be proposed, and why."""

    group: int
    name: str
    why: str


class Kin:
    """The questions with the same meaning as one, answered or not.

    groups: all turns, in groups."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._answered: dict[str, str] = {}
        for group in groups:
            good = [turn for turn in group.turns if not is_failure(turn)]
            cited = Counter(filter(None, map(answering_section, good)))
            if cited and len(good) >= ANSWERED * len(group.turns):
                self._answered.update(dict.fromkeys((turn.id for turn in group.turns), cited.most_common(1)[0][0]))

    def section(self, turns: Sequence[RecordedTurn]) -> str:
        """Return the section (`file#anchor`) that answered others who asked the same as most of these, or ""."""
        found = Counter(self._answered.get(turn.id, "") for turn in turns if turn.outcome != "answered")
        section, count = found.most_common(1)[0] if found else ("", 0)
        return section if count > len(turns) / 2 else ""


class Decider:
    """Decides what is to be done about groups of recorded questions. Raises StoreError, ModelError, RetrieveError."""

    def __init__(
        self, library: Library, material: Material, lexical: LexicalIndex, finder: SubjectFinder, kin: Kin
    ) -> None:
        self._retriever = Retriever(library)
        self._material, self._lexical, self._finder, self._kin = material, lexical, finder, kin
        self._sections = {section_address(section): section for section in material.walk()}

    async def decide(self, number: int, group: Group) -> Decision | Undecided:
        """Return what is to be done about a group of questions that were not answered."""
        asked = quoted_questions(group.turns)
        subject = self._finder.subject(list(dict.fromkeys(turn.question for turn in group.turns)))
        if not subject.words or not asked:
            return Undecided(number, quoted_line(group.name), "the questions have no subject in common")
        found = self._kin.section(group.turns)
        if found in self._sections:
            return self._questions(number, self._sections[found], group.turns, asked, subject)
        return await self._decide(number, group.turns, asked, subject)

    async def _decide(
        self, number: int, missed: tuple[RecordedTurn, ...], asked: tuple[str, ...], subject: SubjectWords
    ) -> Decision | Undecided:
        near = await self._nearest([turn.question for turn in missed])
        best, share = await self._best(subject)
        agreed = best is not None and bool(near) and near[0].key == best.key
        if agreed and best is not None and not subject.unknown and share >= NEAR and not _is_disliked(missed):
            return self._questions(number, best, missed, asked, subject)
        if not near:
            return Undecided(number, asked[0], "no section has anything of it: write where it belongs")
        holds = best is not None and (share >= HELD or not subject.unknown)
        place = best if holds and best is not None and _can_change(best) else None
        kind: Kind = "edit" if place else "section"
        neighbours = tuple(near[:NEIGHBOURS])
        return Decision((number,), kind, place or near[0], subject, missed, asked, neighbours)

    async def _best(self, subject: SubjectWords) -> tuple[Section | None, float]:
        """Return the section that has most of a subject's words, and how much of them it has."""
        found = await self._retriever.retrieve(" ".join(subject.words))
        passages = [one for one in found.passages if _is_text(one)]
        matches = self._lexical.match(found.text, passages)
        best = max(passages, key=lambda one: matches[one.id].score, default=None)
        return (self._material.section_of(best), matches[best.id].share) if best else (None, 0.0)

    async def _nearest(self, questions: Sequence[str]) -> list[Section]:
        """Return the sections that have most of what the questions ask, those of the document with most of it first."""
        votes: defaultdict[Key, float] = defaultdict(float)
        documents: defaultdict[str, float] = defaultdict(float)
        for question in list(dict.fromkeys(questions))[:SEARCHED]:
            shares = await self._shares(question)
            for key, share in shares.items():
                votes[key] += share
            for docid in {docid for docid, _ in shares}:
                documents[docid] += max(share for key, share in shares.items() if key[0] == docid)
        order = sorted(votes, key=lambda key: (-documents[key[0]], -votes[key], key))
        return [self._material.sections[key] for key in order if votes[key] > 0]

    async def _shares(self, question: str) -> dict[Key, float]:
        """Return how well sections fit a question: relative to the best, times how much of it that one has."""
        found = await self._retriever.retrieve(question)
        passages = [one for one in found.passages if _is_text(one)]
        matches = self._lexical.match(found.text, passages)
        best = max((match.score for match in matches.values()), default=0.0)
        shares: dict[Key, float] = {}
        for one in passages if best else ():
            fit = matches[one.id].share * matches[one.id].score / best
            shares[one.key] = max(shares.get(one.key, 0.0), fit)
        return shares

    def _questions(
        self, number: int, section: Section, turns: tuple[RecordedTurn, ...], asked: tuple[str, ...],
        subject: SubjectWords,
    ) -> Decision | Undecided:  # fmt: skip
        """Return the proposal of questions for a section."""
        fitting = self._fitting(section, turns)
        if not fitting:
            why = f"answered by {name_of(section)}, it seems, but none is a question that can stand there"
            return Undecided(number, asked[0], why)
        return Decision((number,), "questions", section, subject, turns, fitting)

    def _fitting(self, section: Section, turns: Sequence[RecordedTurn]) -> tuple[str, ...]:
        """Return the questions that are questions about a section; see `QuestionGate`."""
        text = "\n\n".join(passage.text for passage in section.all_passages())
        gate = QuestionGate(AnnotatorSection(section.titles, text, language=section.language))
        fitting: list[str] = []
        for question in quoted_questions(turns):
            try:
                fitting.append(gate.check(question))
            except UnsureError:  # other words than the section's are what it lacks
                fitting.append(question)
            except GateError:
                continue
        return tuple(fitting[:QUESTIONS])


def _is_disliked(turns: Sequence[RecordedTurn]) -> bool:
    """Return True if most of the questions were answered, but not as the students wanted."""
    return sum(turn.outcome == "answered" for turn in turns) > len(turns) / 2


def name_of(section: Section) -> str:
    """Return a section as it is named in a sentence: its title and address."""
    return f"“{section.title}” ({section_address(section)})"


def _is_text(passage: Passage) -> bool:
    return kind_of(passage) in ("", DEFINITION)


def _can_change(section: Section) -> bool:
    """Return True for a section that is not a whole document, or the only heading around one."""
    around = section.parent
    return around is not None and not (around.parent is None and len(around.children) == 1 and section.children)


def join(decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions with those as one that lack the same words."""
    joined: list[Decision] = []
    for one in decisions:
        other = next((made for made in joined if _is_same(made, one)), None)
        if other is None:
            joined.append(one)
            continue
        first, second = (other, one) if len(other.turns) >= len(one.turns) else (one, other)
        turns = (*first.turns, *second.turns)
        words = tuple(dict.fromkeys((*first.subject.words, *second.subject.words)))
        unknown = tuple(dict.fromkeys((*first.subject.unknown, *second.subject.unknown)))
        near = tuple({section.key: section for section in (*first.neighbours, *second.neighbours)}.values())
        joined[joined.index(other)] = Decision(
            (*first.groups, *second.groups), first.kind, first.section, SubjectWords(words, unknown), turns,
            quoted_questions(turns), near[:NEIGHBOURS],
        )  # fmt: skip
    return joined


def _is_same(one: Decision, other: Decision) -> bool:
    if "questions" in (one.kind, other.kind):
        return False
    return not set(one.subject.unknown).isdisjoint(other.subject.unknown)
