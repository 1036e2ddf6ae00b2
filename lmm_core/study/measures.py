"""Measure retrieval with labelled questions.

hit@k and mean reciprocal rank (MRR) follow Voorhees, "The TREC-8 question answering track report", 1999.
A question's rank is that of the first hit in its section or below."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..indexing.passages import Key, Passage, Section
from ..retrieve.search import HITS

DEPTH = HITS  # hits judged per question
FOUND = 5  # rank up to which a section counts as found
ANNOTATED, STUDENTS = "annotated", "students"  # origins of questions


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question with the section that answers it. place: `file:line` of a student's question."""

    question: str
    section: Section
    origin: str = ANNOTATED
    place: str = ""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """Result of a question.

    rank: from 1, None beyond `DEPTH`
    is_shown: in the model's context
    is_refused: without a model"""

    labelled: Labelled
    rank: int | None
    first: Passage | None
    is_shown: bool = False
    is_refused: bool = False

    @property
    def is_missed(self) -> bool:
        """True if the section is not among the first `FOUND` hits."""
        return self.rank is None or self.rank > FOUND


def judge(
    labelled: Labelled, hits: Sequence[Passage], shown: Collection[Key] = (), is_refused: bool = False
) -> QuestionResult:
    """Return the result of a question.

    hits: best first
    shown: sections in the context"""
    right = {section.key for section in labelled.section.walk()}
    first = hits[0] if hits else None
    rank = next((rank for rank, hit in enumerate(hits[:DEPTH], 1) if hit.key in right), None)
    return QuestionResult(labelled, rank, first, not right.isdisjoint(shown), is_refused)


def hit_at(outcomes: Sequence[QuestionResult], k: int) -> float:
    """Return the share of questions (0 to 1) whose section is among the first k hits."""
    return sum(outcome.rank is not None and outcome.rank <= k for outcome in outcomes) / max(len(outcomes), 1)


def mean_reciprocal_rank(outcomes: Sequence[QuestionResult]) -> float:
    """Return the mean of 1/rank (0 to 1), 0 for a missed section."""
    return sum(1 / outcome.rank for outcome in outcomes if outcome.rank is not None) / max(len(outcomes), 1)


def share_shown(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) whose section is in the model's context."""
    return sum(outcome.is_shown for outcome in outcomes) / max(len(outcomes), 1)


def share_refused(outcomes: Sequence[QuestionResult]) -> float:
    """Return the share of questions (0 to 1) refused without a model."""
    return sum(outcome.is_refused for outcome in outcomes) / max(len(outcomes), 1)


def by_section(outcomes: Sequence[QuestionResult]) -> list[tuple[Section, list[QuestionResult]]]:
    """Return results by section in ascending MRR, each with the worst question first."""
    groups: dict[Key, list[QuestionResult]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.labelled.section.key, []).append(outcome)
    for group in groups.values():
        group.sort(key=lambda outcome: outcome.rank or DEPTH + 1)
        group.reverse()
    return [(group[0].labelled.section, group) for group in sorted(groups.values(), key=mean_reciprocal_rank)]


def describe_rank(rank: int | None) -> str:
    return f"not among {DEPTH} hits" if rank is None else f"hit {rank}"
