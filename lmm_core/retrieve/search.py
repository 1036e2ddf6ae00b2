"""The search for points of a collection, ranked as passages are for answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..index.chunks import SUMMARY
from ..index.collection import aquery_many
from ..store.vector_store import ScoredPoint, Where
from .library import Library
from .passages import Passage
from .ranking.fusion import BESIDE, add_ranks
from .retriever import HITS, parse_asked


async def search_points(library: Library, text: str, limit: int, where: Where | None) -> list[ScoredPoint]:
    """Return the points that fit a text best, ranked as `Retriever` ranks passages; summaries are points, too.

    A type keyword in the text puts points of that type first. Raise StoreError, ModelError or
    RetrieveError."""
    material, lexical = await library.material(), await library.lexical()
    asked = parse_asked(text, [*material.kinds, SUMMARY], library.language)
    queries = [asked.text, *filter(None, [lexical.corrected(asked.text), lexical.synonyms.replaced(asked.text)])]
    most = max(limit, HITS)
    found = await aquery_many(library.store, library.collection, library.encoder, queries, most, where, asked.type)
    points = {point.id: point for many in found for point in many if point.id in material.passages}
    passages = [material.passages[one] for one in points]
    scores = _scores(library, found, lexical.rank(asked.text, passages, asked.type))
    best = sorted(passages, key=lambda one: (asked.type not in ("", *one.kinds), -scores[one.id], one.id))
    return [replace(points[one.id], score=scores[one.id]) for one in best[:limit]]


def _scores(library: Library, found: Sequence[Sequence[ScoredPoint]], ranked: Sequence[Passage]) -> dict[str, float]:
    """Return the scores of points by their ids. found: as several queries did; ranked: by their words."""
    compared = library.compares()
    if compared == "words":
        return {one.id: one.score for one in ranked}
    scores: dict[str, float] = {}
    for many in found:
        add_ranks(scores, ([(point.id, 1.0)] for point in many))
    if compared == "both":
        add_ranks(scores, ([(one.id, BESIDE)] for one in ranked))
    return scores
