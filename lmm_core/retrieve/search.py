"""The search for points of a collection, ranked as passages are for answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, Where
from .library import Library
from .ranking.fusion import themselves
from .ranking.spans import Span, best_spans
from .retriever import BY_WORDS, HITS, parse_asked, rank_found, with_other_names

PASSAGE = "passage"  # the key of a point's best span


async def search_points(
    library: Library, text: str, limit: int, where: Where | None, warn: Callable[[str], None]
) -> list[ScoredPoint]:
    """Return the points that fit a text best, ranked as `Retriever` ranks passages; summaries are points, too.

    The payload of each has its best span as `passage`. A type keyword in the text puts points of that
    type first. warn: told if words alone are compared, since the embedding model fails. Raise StoreError,
    ModelError or RetrieveError."""
    words = await library.words()
    asked = parse_asked(text, list(words.statistics.kinds), words.language)
    queries = [asked.text, *filter(None, [words.corrected(asked.text)])]
    searched = with_other_names(queries, asked.text, words)
    found = await library.find(*searched, max(limit, HITS), where, asked.type, lambda why: warn(f"{BY_WORDS}: {why}"))
    best = best_spans(rank_found(found, [asked.text], asked.type, themselves))
    order = sorted(best.values(), key=lambda span: asked.type not in ("", *span.passage.kinds))
    ids = [span.passage.id for span in order[:limit]]
    points = await run_in_thread(library.store.retrieve, library.collection, ids)
    return [_with_passage(point, best[point.id]) for point in points]


def _with_passage(point: ScoredPoint, span: Span) -> ScoredPoint:
    return replace(point, score=span.score, payload={**point.payload, PASSAGE: span.text})
