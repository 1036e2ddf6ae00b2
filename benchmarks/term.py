"""A simulated term: 300 students ask the sample book 3,000 questions, a tenth of them about what it lacks.

python benchmarks/term.py [--seed 2] [--questions 3000] [--keep FOLDER]

The questions are asked one after the other, each in its conversation, twice: answered by quotations, as
`lmm serve` answers without a model; and by a reader who finds what the context has and refuses else, a model
that never errs. Then they are recorded, grouped and turned into proposals, as `lmm asked propose` does.
Everything follows from the seed. --keep FOLDER leaves the two books there, with index and recordings, to try
`lmm asked` on.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from questions import index_book
from tables import machine, print_table, say
from term_questions import AFTER, ANSWERED, BEFORE, CHATTER, COMPLAINTS, FOLLOW_UPS, MISSING, PRAISE
from texts import ROOT

sys.path.insert(0, str(ROOT))
from lmm_core.asked.groups import Group
from lmm_core.asked.recordings import Recordings, recordings_path
from lmm_core.asked.turns import RecordedSource, RecordedTurn
from lmm_core.models.chat import run
from lmm_core.retrieve.answer import Answer, Conversation
from lmm_core.retrieve.retriever import Retrieval
from lmm_core.settings.project import load_project
from lmm_core.study.measures import section_address
from lmm_core.workflows.ask import make_conversation, open_library
from lmm_core.workflows.asked.dashboard import FEWEST
from lmm_core.workflows.asked.decisions import Decision
from lmm_core.workflows.asked.groups import group_questions
from lmm_core.workflows.asked.proposals import Proposals, decide_failures
from lmm_core.workflows.models import Models
from tests.retrieve.questions import SETS, questions

SHARE_MISSING, SHARE_CHATTER, SHARE_FOLLOW_UPS, SHARE_TYPOS = 0.10, 0.03, 0.12, 0.15
SHARE_BEFORE, SHARE_AFTER = 0.15, 0.25  # of the questions with something before and after them
WEEKS = 15


@dataclass(frozen=True)
class Truth:
    """The truth about a question: a subject that is missing, the sections that answer it, or nothing (chatter)."""

    subject: str = ""
    sections: tuple[str, ...] = ()


@dataclass(frozen=True)
class Played:
    """A question as it was recorded, with what it is about."""

    turn: RecordedTurn
    truth: Truth


# The students


class Students:
    """The students of a term; everything that they ask is drawn from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        known = {question: sections for name in SETS for question, sections in questions(name) if sections}
        known |= {question: (section,) for section, asked in ANSWERED.items() for question in asked}
        self._answered = [(question, Truth("", tuple(sections))) for question, sections in known.items()]
        self.random.shuffle(self._answered)
        self._popular = [1 / (1 + at) ** 0.5 for at in range(len(self._answered))]  # some are asked often
        self._asked_of = [1 + self.random.random() * 2 for _ in MISSING]

    def conversations(self, number: int) -> Iterator[tuple[str, list[tuple[str, Truth]]]]:
        """Yield an hour and the questions of each conversation, in the order of the term."""
        left, made = number, []
        while left:
            length = min(left, 1 + int(self.random.expovariate(0.6)))
            made.append((self._hour(), self._talk(length)))
            left -= length
        yield from sorted(made, key=lambda one: one[0])

    def _hour(self) -> str:
        week = min(int(self.random.triangular(0, WEEKS, WEEKS)), WEEKS - 1)  # more before the examination
        day, hour = self.random.randrange(7), int(self.random.triangular(8, 24, 20)) % 24
        month, date = divmod(week * 7 + day, 30)
        return f"2026-{9 + month:02}-{date + 1:02}T{hour:02}"

    def _talk(self, length: int) -> list[tuple[str, Truth]]:
        talk: list[tuple[str, Truth]] = []
        for _ in range(length):
            if talk and talk[-1][1] != Truth() and self.random.random() < SHARE_FOLLOW_UPS:
                talk.append((self.random.choice(FOLLOW_UPS), talk[-1][1]))
            else:
                question, truth = self._question()
                talk.append((self._worded(question), truth))
        return talk

    def _question(self) -> tuple[str, Truth]:
        drawn = self.random.random()
        if drawn < SHARE_MISSING:
            subject = self.random.choices(MISSING, self._asked_of)[0]
            return self.random.choice(subject.wordings), Truth(subject.name)
        if drawn < SHARE_MISSING + SHARE_CHATTER:
            return self.random.choice(CHATTER), Truth()
        return self.random.choices(self._answered, self._popular)[0]

    def _worded(self, question: str) -> str:
        made = (self.random.choice(BEFORE) if self.random.random() < SHARE_BEFORE else "") + question
        if self.random.random() < SHARE_AFTER:
            made = made.rstrip("?.") + self.random.choice(AFTER)
        style = self.random.random()
        made = made.lower() if style < 0.35 else made.upper() if style > 0.98 else made
        return self._mistyped(made) if self.random.random() < SHARE_TYPOS else made

    def _mistyped(self, text: str) -> str:
        """Return a text with a letter doubled, left out, or changed for the one after it."""
        places = [at for at in range(1, len(text) - 2) if text[at].isalpha() and text[at + 1].isalpha()]
        if not places:
            return text
        at, kind = self.random.choice(places), self.random.randrange(3)
        middle = (text[at] * 2 + text[at + 1], text[at + 1], text[at + 1] + text[at])[kind]
        return text[:at] + middle + text[at + 2 :]

    def judgement(self, outcome: str, is_right: bool) -> tuple[int, str]:
        """Return thumb and comment of a student who has read an answer. Most students give none."""
        drawn, said = self.random.random(), self.random.random() < 0.3
        if outcome == "answered" and is_right:
            thumb = 1 if drawn < 0.10 else -1 if drawn > 0.985 else 0
        else:
            thumb = -1 if drawn < (0.25 if outcome == "answered" else 0.10) else 1 if drawn > 0.99 else 0
        comments = {1: PRAISE, -1: COMPLAINTS}.get(thumb)
        return thumb, self.random.choice(comments) if comments and said else ""

    def ident(self) -> str:
        """Return a name for a conversation or a question."""
        return f"{self.random.getrandbits(64):016x}"


# The term


def make_book(folder: Path) -> Path:
    """Return a copy of the sample book, indexed without an embedding model."""
    book = Path(shutil.copytree(ROOT / "sample-book", folder / "book"))
    index_book(book)
    return book


async def play(book: Path, students: Students, number: int, reads: bool = False) -> list[Played]:
    """Return what is recorded of a term's questions.

    reads: the answers are those of a reader who finds what the context has, in place of quotations: a model
    that never errs."""
    project, models = load_project(book / "-"), Models()
    library = await open_library(project, models)
    played: list[Played] = []
    try:
        for hour, talk in students.conversations(number):
            conversation = make_conversation(project, models, library, with_model=False)
            name = students.ident()
            for question, truth in talk:
                played.append(await _turn(conversation, question, truth, students, name, hour, reads))
    finally:
        library.store.close()
    return played


async def _turn(
    conversation: Conversation, question: str, truth: Truth, students: Students, name: str, hour: str, reads: bool
) -> Played:  # fmt: skip
    found, context = await conversation.look(question, as_for_model=reads)
    answer = await conversation.answer(question, found, context)
    if reads:
        right = tuple(one.number for one in context.sources if section_address(one) in truth.sections)
        answer = replace(answer, cited=right, answered=bool(right))
    sources = recorded_sources(found, answer)
    cited = {source.section for source in sources if source.cited}
    outcome = "answered" if answer.answered else "refused"
    thumb, comment = students.judgement(outcome, not cited.isdisjoint(truth.sections))
    turn = RecordedTurn(
        students.ident(), name, hour, question, "", answer.text, outcome, sources, answer.by, 0.01, 0.01,
        thumb=thumb, comment=comment,
    )  # fmt: skip
    return Played(turn, truth)


def recorded_sources(found: Retrieval, answer: Answer) -> tuple[RecordedSource, ...]:
    """Return the sections that were found for a question."""
    numbers = {source.number: section_address(source) for source in answer.sources}
    cited = {numbers[number] for number in answer.cited}
    ranked = ((section_address(one.section), one) for one in found.sections)
    return tuple(
        RecordedSource(address, one.section.titles, rank, one.score, address in cited)
        for rank, (address, one) in enumerate(ranked, 1)
    )


# What is measured


@dataclass(frozen=True)
class Measured:
    """A term with what became of it. seconds: of processor time, for groups and for all proposals."""

    played: Sequence[Played]
    groups: Sequence[Group]
    proposals: Proposals
    seconds: tuple[float, float]

    def about(self, turns: Sequence[RecordedTurn]) -> Truth:
        """Return what most of some turns are about."""
        known = {one.turn.id: one.truth for one in self.played}
        truths = Counter(known[turn.id] if known[turn.id].subject else Truth() for turn in turns)
        return truths.most_common(1)[0][0]

    def answering(self, turns: Sequence[RecordedTurn]) -> set[str]:
        """Return the sections that answer some turns."""
        known = {one.turn.id: one.truth.sections for one in self.played}
        return {section for turn in turns for section in known[turn.id]}


async def measure(book: Path, played: Sequence[Played]) -> Measured:
    """Return the groups of a term, and the proposals."""
    turns = [one.turn for one in played]
    library = await open_library(load_project(book / "-"), Models())
    try:
        start = time.process_time()
        groups, _ = await group_questions(library, turns, say)
        grouped = time.process_time()
        proposals = await decide_failures(library, turns, frozenset(), say)
        return Measured(played, groups, proposals, (grouped - start, time.process_time() - grouped))
    finally:
        library.store.close()


def figures(measured: Measured) -> list[tuple[str, str]]:
    """Return the figures of a term, each with its name."""
    large = [group for group in measured.groups if group.size >= FEWEST]
    named = [measured.about(group.turns).subject for group in large]
    central = {
        subject
        for group, subject in zip(large, named, strict=True)
        if subject and measured.about(group.turns[:1]).subject == subject
    }
    members = sum(len(group.turns) for group, subject in zip(large, named, strict=True) if subject)
    pure = sum(
        measured.about([turn]).subject == subject
        for group, subject in zip(large, named, strict=True) if subject for turn in group.turns
    )  # fmt: skip
    return [
        *_asked(measured.played),
        ("groups of questions not answered, asked in 3 conversations or more", f"{len(large)}"),
        ("  of a subject that is missing", f"{sum(map(bool, named))}"),
        ("  missing subjects that such a group is named by", f"{len(central)} of {len(MISSING)}"),
        ("  questions in these groups that are about their subject", _share(pure, members)),
        *_proposed(measured),
        ("seconds for groups, and for all of propose", "{:.1f}, {:.1f}".format(*measured.seconds)),
    ]


def _asked(played: Sequence[Played]) -> Iterator[tuple[str, str]]:
    yield "questions", f"{len(played):,} in {len({one.turn.conversation for one in played}):,} conversations"
    kinds = {"missing": lambda truth: truth.subject, "answered by the notes": lambda truth: truth.sections}
    for name, is_one in kinds.items():
        own = [one.turn for one in played if is_one(one.truth)]
        refused = sum(turn.outcome == "refused" for turn in own)
        yield f"  {name}", f"{len(own):,}, refused {_share(refused, len(own))}"
    yield "  with a thumb down", f"{sum(one.turn.thumb < 0 for one in played):,}"


def _proposed(measured: Measured) -> Iterator[tuple[str, str]]:
    edits = [one for one in measured.proposals.decisions if one.kind != "questions"]
    found = [one for one in measured.proposals.decisions if one.kind == "questions"]
    subjects = [measured.about(one.turns).subject for one in edits]
    right = sum(is_right_place(one, name) for one, name in zip(edits, subjects, strict=True) if name)
    times = Counter(filter(None, subjects))
    yield "edits proposed", f"{len(edits)}"
    yield "  about a missing subject", f"{times.total()} ({_share(times.total(), len(edits))})"
    yield "    of these, in a right place", f"{right} ({_share(right, times.total())})"
    yield "  missing subjects with an edit", f"{len(times)} of {len(MISSING)}"
    yield "    with exactly one", f"{sum(count == 1 for count in times.values())} of {len(MISSING)}"
    good = sum(section_address(one.section) in measured.answering(one.turns) for one in found)
    yield "questions proposed for sections", f"{len(found)}"
    yield "  of these, for a right section", f"{good} ({_share(good, len(found))})"
    none = measured.proposals
    yield "groups with nothing proposed; asked too rarely", f"{len(none.undecided)}; {none.small}"


def is_right_place(decision: Decision, subject: str) -> bool:
    """Return True if a teacher would write about a subject there."""
    known = next(one for one in MISSING if one.name == subject)
    if decision.kind == "section":
        return decision.section.source in known.chapters
    return section_address(decision.section) in known.sections


def _share(part: int, of: int) -> str:
    return f"{100 * part / max(of, 1):.0f} %"


def record(book: Path, played: Sequence[Played]) -> None:
    """Write a term into a book's recordings."""
    with closing(Recordings(recordings_path(book))) as recordings:
        for one in played:
            recordings.add(one.turn)


def main() -> None:
    """Play the term, and print what is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--questions", type=int, default=3000)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    say(machine())
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, reads in (("quotations", False), ("reader", True)):
            place = (options.keep or Path(folder)) / name
            place.mkdir(parents=True)
            book = make_book(place)
            played = run(play(book, Students(options.seed), options.questions, reads))
            if options.keep:
                record(book, played)
            for title, figure in figures(run(measure(book, played))):
                rows.setdefault(title, []).append(figure)
    print_table(
        f"A term, seed {options.seed}", ("", "quotations", "reader"), [(name, *row) for name, row in rows.items()]
    )


if __name__ == "__main__":
    main()
