"""The search for points of a collection, ranked as passages are for answers; and the values in their payloads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..errors import RetrieveError
from ..index.collection import find_types
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, VectorStore, Where
from .library import Library
from .ranking.fusion import themselves
from .ranking.spans import Span, best_spans
from .retriever import BY_WORDS, HITS, parse_asked, rank_found, with_other_names

PASSAGE = "passage"  # the key of a point's best span
_OF_EACH = {"page_content", "hash", "sequence", "textid", "line_start", "line_end"}  # every chunk has another one


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


def search_filter(store: VectorStore, collection: str, kind: str, no_type: bool, under: str) -> Where | None:
    """Return the filter for some chunks, or None if every chunk may be found. Raise StoreError.

    kind: only chunks of this type; no_type: only chunks without a type; under: only chunks in this section (a path
    like `1.2`) or file."""
    wanted: dict[str, str] = {"type": kind} if kind else {}
    if under:
        wanted["source" if "/" in under or not under.replace(".", "").isdigit() else "section_path"] = under
    if not (wanted or no_type):
        return None
    types = list(find_types(store, collection)) if no_type else []
    return Where(wanted, {"type": types} if types else {})


def count_values(store: VectorStore, collection: str, key: str) -> tuple[dict[str, int], int]:
    """Return the values of a key in a collection with the numbers of their chunks, the most frequent first, and the
    number of chunks without one.

    Each item of a list counts. Raise StoreError, and RetrieveError if no chunk has the key."""
    payloads = [point.payload for point in store.scroll(collection)]
    known = sorted({name for payload in payloads for name in payload} - _OF_EACH)
    if key not in known:
        raise RetrieveError(f"no chunk has a key {key!r} whose values can be listed; there are {', '.join(known)}")
    values = [_values(payload.get(key)) for payload in payloads]
    counts = Counter(value for many in values for value in many)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))), values.count([])


def _values(value: Any) -> list[str]:
    """Return the values of a key in a chunk as text, each once."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return list(dict.fromkeys(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in values))
