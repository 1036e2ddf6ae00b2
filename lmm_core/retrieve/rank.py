"""Which passages and sections fit a question, by what several queries have found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..index.chunks import SUMMARY
from .passages import Key, Material, Passage, Section

# Reciprocal rank fusion: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
# Condorcet and individual rank learning methods", SIGIR 2009; 60 is theirs.
RRF_K = 60
UNDER_SUMMARY = 0.5  # what a hit on a section's summary counts for its passages


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with what its hits add up to, and its hits, the best first."""

    section: Section
    score: float
    passages: tuple[Passage, ...]


def fuse(found: Sequence[Sequence[Passage]], material: Material) -> list[Passage]:
    """What several queries have found as one list, the best first, scored by the ranks that
    each passage has. A hit on a summary gives back the passages of its section."""
    scores: dict[str, float] = {}
    for passages in found:
        for rank, passage in enumerate(passages):
            for one, weight in _meant(passage, material):
                scores[one.id] = scores.get(one.id, 0.0) + weight / (RRF_K + rank + 1)
    order = sorted(scores, key=lambda at: (-scores[at], at))
    return [replace(material.passages[at], score=scores[at]) for at in order]


def _meant(passage: Passage, material: Material) -> Iterator[tuple[Passage, float]]:
    """The passages that a hit is for; those right under a summary, else under the first of
    its subsections that has any."""
    if SUMMARY not in passage.kinds:
        yield passage, 1.0
        return
    under = next((section.passages for section in material.section_of(passage).walk() if section.passages), [])
    yield from ((one, UNDER_SUMMARY) for one in under)


def rank_sections(found: Sequence[Sequence[Passage]], material: Material, best: Sequence[Passage]) -> list[Ranked]:
    """The sections that were hit, by how often and how closely: the sum of their hits'
    reciprocal ranks, a summary's among them. best: the passages as they are ranked in the
    end; each section has its own of them. Documents count as the section before their first
    heading."""
    scores: dict[Key, float] = {}
    for passages in found:
        for rank, passage in enumerate(passages):
            scores[passage.key] = scores.get(passage.key, 0.0) + 1 / (RRF_K + rank + 1)
    own: dict[Key, list[Passage]] = {}
    for passage in best:
        own.setdefault(passage.key, []).append(passage)
    order = sorted(scores, key=lambda key: (-scores[key], key))
    return [Ranked(material.sections[key], scores[key], tuple(own.get(key, ()))) for key in order]
