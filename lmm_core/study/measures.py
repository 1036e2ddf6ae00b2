"""Measures of retrieval, by questions whose sections are known.

hit@k and the mean reciprocal rank (MRR) are those of Voorhees, "The TREC-8 question
answering track report", 1999: a question's rank is that of the first hit that lies in its
section or below it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..indexing.passages import Key, Passage, Section
from ..retrieve.search import HITS

DEPTH = HITS  # hits of a question that are judged
FOUND = 5  # a section among so many hits counts as found
ANNOTATED, STUDENTS = "annotated", "students"  # origins of questions


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with the section that answers it. place: `file:line` of a student's, in the file of questions."""

    question: str
    section: Section
    origin: str = ANNOTATED
    place: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question.

    rank: that of its section, from 1, or None if it is not among the first `DEPTH` hits;
    first: the best hit, or None if there was none; is_shown: some of the section is in the context
    that a model is shown; is_refused: without a model, there is no answer."""

    labelled: Labelled
    rank: int | None
    first: Passage | None
    is_shown: bool = False
    is_refused: bool = False

    @property
    def is_missed(self) -> bool:
        """True if the section is not among the first hits."""
        return self.rank is None or self.rank > FOUND


def judge(
    labelled: Labelled, hits: Sequence[Passage], shown: Collection[Key] = (), is_refused: bool = False
) -> QuestionResult:
    """Return the result of a question, given its hits with the best first, and the sections that are shown."""
    right = {section.key for section in labelled.section.walk()}
    first = hits[0] if hits else None
    rank = next((rank for rank, hit in enumerate(hits[:DEPTH], 1) if hit.key in right), None)
    return QuestionResult(labelled, rank, first, not right.isdisjoint(shown), is_refused)


def hit_at(outcomes: Sequence[QuestionResult], k: int) -> float:
    """Return the share of questions (0 to 1) whose section is among the first k hits."""
    return sum(one.rank is not None and one.rank <= k for one in outcomes) / max(len(outcomes), 1)


def mean_reciprocal_rank(outcomes: Sequence[QuestionResult]) -> float:
    """Return the mean of 1/rank (0 to 1); a section that is not found counts 0."""
    return sum(1 / one.rank for one in outcomes if one.rank is not None) / max(len(outcomes), 1)


def share_shown(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) whose section is in the context that a model is shown."""
    return sum(one.is_shown for one in outcomes) / max(len(outcomes), 1)


def share_refused(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) that get no answer without a model. All have one in the notes."""
    return sum(one.is_refused for one in outcomes) / max(len(outcomes), 1)


def by_section(outcomes: Sequence[QuestionResult]) -> list[tuple[Section, list[QuestionResult]]]:
    """Return the results grouped by the section looked for, the hardest sections first.

    Sections are ordered by MRR, then by the order of the questions. Within a section, the worst
    question comes first."""
    groups: dict[Key, list[QuestionResult]] = {}
    for one in outcomes:
        groups.setdefault(one.labelled.section.key, []).append(one)
    for group in groups.values():
        group.sort(key=lambda one: one.rank or DEPTH + 1)
        group.reverse()
    return [(group[0].labelled.section, group) for group in sorted(groups.values(), key=mean_reciprocal_rank)]


def describe_rank(rank: int | None) -> str:
    """Return a rank in words."""
    return f"not among {DEPTH} hits" if rank is None else f"hit {rank}"
