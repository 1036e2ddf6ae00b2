"""The ranking of passages and sections by the results of several queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...index.chunks import SUMMARY
from ..passages import Key, Material, Passage, Section
from .spans import Span

# Reciprocal rank fusion: Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms
# Condorcet and individual rank learning methods", SIGIR 2009; 60 is theirs.
RRF_K = 60
Meant = Callable[[Passage, Material], Iterator[tuple[Passage, float]]]  # what a hit counts for, with weights
Weights = tuple[float, float]  # of the rankings by words and by meaning
# By what a search compares; by benchmarks/ask.py.
WEIGHTS: dict[str, Weights] = {"words": (1.0, 0.0), "both": (1.0, 0.5), "meaning": (0.25, 1.0)}
UNDER_SUMMARY = 0.5  # weight of a hit on a section's summary for each of its passages


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with the score of its best passage, and its passages, the best first."""

    section: Section
    score: float
    passages: tuple[Passage, ...]


def under_summary(passage: Passage, material: Material) -> Iterator[tuple[Passage, float]]:
    """Yield the passages that a hit counts for, each with its weight.

    For a summary these are the passages right under it, or else under the first of its
    subsections that has any."""
    if SUMMARY not in passage.kinds:
        yield passage, 1.0
        return
    under = next((section.passages for section in material.section_of(passage).walk() if section.passages), [])
    yield from ((one, UNDER_SUMMARY) for one in under)


def fuse(found: Sequence[Sequence[Passage]], material: Material, meant: Meant = under_summary) -> list[Passage]:
    """Return the results of several queries as one list, the best passage first.

    meant: gives the passages that a hit counts for. The score of a passage is the sum of its
    reciprocal ranks."""
    scores: dict[str, float] = {}
    for passages in found:
        add_ranks(scores, ([(one.id, weight) for one, weight in meant(hit, material)] for hit in passages))
    order = sorted(scores, key=lambda at: (-scores[at], at))
    return [replace(material.passages[at], score=scores[at]) for at in order]


def fuse_spans(by_words: Sequence[Sequence[Span]], passages: Sequence[Passage], weights: Weights) -> list[Span]:
    """Return several rankings of the same spans as one, the best first.

    passages: those of the spans that were found by their meaning, with the scores of `fuse`."""
    words, meaning = weights
    if len(by_words) == 1 and not meaning:
        return list(by_words[0])
    scores: dict[str, float] = {}
    for spans in by_words:
        add_ranks(scores, ([(span.id, words)] for span in spans))
    found = {one.id: meaning * one.score for one in passages}
    every = {span.id: span for spans in by_words for span in spans}.values()
    fused = [span.scored(scores[span.id] + found.get(span.passage.id, 0.0)) for span in every]
    return sorted(fused, key=lambda span: (-span.score, span.passage.id, span.start))


def add_ranks(scores: dict[str, float], hits: Iterable[Iterable[tuple[str, float]]]) -> None:
    """Add the reciprocal ranks of a list of hits, the best first, to the scores by id.

    Each hit has the ids that it counts for, with their weights."""
    for rank, meant in enumerate(hits):
        for one, weight in meant:
            scores[one] = scores.get(one, 0.0) + weight / (RRF_K + rank + 1)


def themselves(passage: Passage, material: Material) -> Iterator[tuple[Passage, float]]:
    """Yield a hit itself, for searches that find summaries, too."""
    yield passage, 1.0


def rank_sections(best: Sequence[Passage], material: Material) -> list[Ranked]:
    """Return the sections of passages that come with the best first, in the order of their best ones.

    A section has the score of its best passage. A document stands for its text before the first
    heading."""
    own: dict[Key, list[Passage]] = {}
    for passage in best:
        own.setdefault(passage.key, []).append(passage)
    return [Ranked(material.sections[key], passages[0].score, tuple(passages)) for key, passages in own.items()]
