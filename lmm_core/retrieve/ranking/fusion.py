"""The ranking of passages and sections by the results of several queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ...index.chunks import SUMMARY
from ...store.vector_store import ScoredPoint
from ..passages import Key, Material, Passage, Section

Hit = TypeVar("Hit", Passage, ScoredPoint)
# Reciprocal rank fusion: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
# Condorcet and individual rank learning methods", SIGIR 2009; 60 is theirs.
RRF_K = 60
BESIDE = 0.25  # weight of the ranking by words where meaning was compared, too; by benchmarks/ask.py
UNDER_SUMMARY = 0.5  # weight of a hit on a section's summary for each of its passages


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with the score of its best passage, and its passages, the best first."""

    section: Section
    score: float
    passages: tuple[Passage, ...]


def behind(found: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
    """Return the results of several queries with those of the last one behind those of the first.

    So what it alone finds is among them, and it has no vote on the others."""
    lists = [list(many) for many in found]
    known = {one.id for many in lists[:-1] for one in many}
    lists[0] += [one for one in lists[-1] if one.id not in known]
    return lists[:-1]


def fuse(
    found: Sequence[Sequence[Passage]], material: Material, beside: Sequence[Sequence[Passage]] = ()
) -> list[Passage]:
    """Return the results of several queries as one list, the best passage first.

    The score of a passage is the sum of its reciprocal ranks. A hit on a summary counts for the
    passages of its section. beside: further lists, which count less (BESIDE)."""
    scores: dict[str, float] = {}
    for share, lists in ((1.0, found), (BESIDE, beside)):
        for passages in lists:
            add_ranks(scores, ([(one.id, share * weight) for one, weight in _meant(hit, material)] for hit in passages))
    order = sorted(scores, key=lambda at: (-scores[at], at))
    return [replace(material.passages[at], score=scores[at]) for at in order]


def add_ranks(scores: dict[str, float], hits: Iterable[Iterable[tuple[str, float]]]) -> None:
    """Add the reciprocal ranks of a list of hits, the best first, to the scores by id.

    Each hit has the ids that it counts for, with their weights."""
    for rank, meant in enumerate(hits):
        for one, weight in meant:
            scores[one] = scores.get(one, 0.0) + weight / (RRF_K + rank + 1)


def _meant(passage: Passage, material: Material) -> Iterator[tuple[Passage, float]]:
    """Yield the passages that a hit counts for, each with its weight.

    For a summary these are the passages right under it, or else under the first of its
    subsections that has any."""
    if SUMMARY not in passage.kinds:
        yield passage, 1.0
        return
    under = next((section.passages for section in material.section_of(passage).walk() if section.passages), [])
    yield from ((one, UNDER_SUMMARY) for one in under)


def rank_sections(best: Sequence[Passage], material: Material) -> list[Ranked]:
    """Return the sections of passages that come with the best first, in the order of their best ones.

    A section has the score of its best passage. A document stands for its text before the first
    heading."""
    own: dict[Key, list[Passage]] = {}
    for passage in best:
        own.setdefault(passage.key, []).append(passage)
    return [Ranked(material.sections[key], passages[0].score, tuple(passages)) for key, passages in own.items()]
