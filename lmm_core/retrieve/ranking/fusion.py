"""Fuse the results of several queries, lexical and semantic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...indexing.passages import SUMMARY, Key, Material, Passage, Section
from .spans import Span, best_first
from .weights import UNDER_SUMMARY, Weights


@dataclass(frozen=True, slots=True)
class Ranked:
    """A section with the score of its best passage."""

    section: Section
    score: float


def _credited(passage: Passage, material: Material, summaries: bool) -> Iterator[tuple[Passage, float]]:
    """Yield the passages credited for a hit, with weights.

    A hit on a summary counts for the passages of its section, or else of the first subsection that has any; with
    `summaries`, for itself."""
    if summaries or SUMMARY not in passage.types:
        yield passage, 1.0
        return
    under = next((section.passages for section in material.sections[passage.key].walk() if section.passages), [])
    yield from ((below, UNDER_SUMMARY) for below in under)


def fuse(results: Sequence[Sequence[Passage]], material: Material, summaries: bool = False) -> list[Passage]:
    """Return the results of several queries as one list, the best passage first.

    A passage's score is the mean of its relative scores: 0 for the worst hit of a query, 1 for the best. summaries:
    are results, too."""
    scores: dict[str, float] = {}
    for hits in results:
        relative = _relative([hit.score for hit in hits])
        own: dict[str, float] = {}
        for hit, score in zip(hits, relative, strict=True):
            for passage, weight in _credited(hit, material, summaries):
                own[passage.id] = max(own.get(passage.id, 0.0), weight * score)
        for at, score in own.items():
            scores[at] = scores.get(at, 0.0) + score / len(results)
    order = sorted(scores, key=lambda at: (-scores[at], at))
    return [material.passages[at].scored(scores[at]) for at in order]


def candidates_of(results: Iterable[Iterable[Passage]], material: Material, summaries: bool) -> list[Passage]:
    """Return the passages credited for the hits."""
    ids = dict.fromkeys(
        passage.id for hits in results for hit in hits for passage, _ in _credited(hit, material, summaries)
    )
    return [material.passages[at] for at in ids]


def _relative(scores: Sequence[float]) -> list[float]:
    """Scale scores to 0 to 1; all 1 if equal."""
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else 1.0 for score in scores]


def fuse_spans(by_words: Sequence[Sequence[Span]], passages: Sequence[Passage], weights: Weights) -> list[Span]:
    """Fuse rankings of the same spans, the best first.

    passages: semantic hits, scored by `fuse`. A single ranking keeps its scores; several are scaled to their best."""
    words, meaning = weights
    if len(by_words) == 1 and not meaning:
        return list(by_words[0])
    scores: dict[str, float] = {}
    for spans in by_words:
        best = max((span.score for span in spans), default=0.0) or 1.0
        for span in spans:
            scores[span.id] = scores.get(span.id, 0.0) + words * span.score / best / len(by_words)
    by_meaning = {passage.id: meaning * passage.score for passage in passages}
    every = {span.id: span for spans in by_words for span in spans}.values()
    return best_first(span.scored(scores[span.id] + by_meaning.get(span.passage.id, 0.0)) for span in every)


def rank_sections(best: Sequence[Passage], material: Material) -> list[Ranked]:
    """Return the sections of ranked passages, by best passage."""
    scores: dict[Key, float] = {}
    for passage in best:
        scores.setdefault(passage.key, passage.score)
    return [Ranked(material.sections[key], score) for key, score in scores.items()]
