"""What is the same in every place: which points and names are taken, how results of
several vectors become one order.

Places differ in how they order points of the same score, and in the last digits of
scores. So each vector is searched for itself, and what follows is done here, as Qdrant
does it (its RRF, its formula query of score + weight): the order is the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID

from ..models.embedder import Sparse
from .vector_store import Point, ScoredPoint, Search, StoreError, Vector, VectorSpec, Where

RRF_K = 2  # Qdrant's own
BOOST_PREFETCH = 500  # so many are looked at for those that are raised
MORE = 16  # so many more than wanted are asked for: ties at the end
MOST = 4096  # so many are asked for at most because of ties
SAME = 1e-6  # scores that differ by less are one: places compute in single precision

Nearest = Callable[[Mapping[str, Vector], int], list[list[ScoredPoint]]]
Retrieve = Callable[[Sequence[str]], list[ScoredPoint]]


def checked_name(name: str) -> str:
    """A collection's name, where it is one: it becomes a folder's name, and a URL's part."""
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}", name):
        return name
    raise StoreError(
        f"{name!r} cannot be the name of a collection: letters, digits, - _ and . are wanted, no . in front"
    )


def checked_id(text: str) -> str:
    """A point's id as Qdrant writes it."""
    try:
        return str(UUID(text))
    except (ValueError, AttributeError, TypeError):
        raise StoreError(f"{text!r} cannot be the id of a point: a UUID is wanted") from None


def checked_points(points: Iterable[Point], spec: VectorSpec) -> list[Point]:
    """Points that the collection can hold, without vectors that are empty. Raises
    StoreError: nothing is written where one of them does not fit."""
    return [_checked_point(point, spec) for point in points]


def _checked_point(point: Point, spec: VectorSpec) -> Point:
    at = checked_id(point.id)
    try:
        for name, vector in point.vectors.items():
            check_vector(name, vector, spec)
    except StoreError as error:
        raise StoreError(f"point {at} cannot be stored: {error}") from None
    return Point(at, {name: vector for name, vector in point.vectors.items() if not _is_empty(vector)}, point.payload)


def _is_empty(vector: Vector) -> bool:
    return isinstance(vector, Sparse) and not vector.indices


def check_vector(name: str, vector: Vector, spec: VectorSpec) -> None:
    """Raise StoreError where the collection has no such vector."""
    if isinstance(vector, Sparse):
        _check_sparse(name, vector, spec)
    elif name in spec.dense:
        _check_numbers(name, vector, spec.dense[name])
    elif name in spec.multi and vector:
        for one in vector:
            _check_numbers(name, one, spec.multi[name])
    else:
        raise StoreError(_no_vector(name, spec))


def _check_sparse(name: str, vector: Sparse, spec: VectorSpec) -> None:
    if name not in spec.sparse:
        raise StoreError(_no_vector(name, spec))
    if not len(set(vector.indices)) == len(vector.indices) == len(vector.values):
        raise StoreError(f"the sparse vector {name!r} needs one value for each index, and each index once")
    if not math.isfinite(sum(vector.values)):
        raise StoreError(f"the sparse vector {name!r} holds what is not a number")


def _check_numbers(name: str, vector: Any, dimensions: int) -> None:
    if not isinstance(vector, list) or len(vector) != dimensions:
        raise StoreError(
            f"the vector {name!r} has {len(vector)} dimensions, the collection's has {dimensions}: "
            "was the collection made with another embedding model?"
        )
    try:
        fine = math.isfinite(sum(vector))
    except TypeError:
        fine = False
    if not fine:
        raise StoreError(f"the vector {name!r} holds what is not a number")


def _no_vector(name: str, spec: VectorSpec) -> str:
    if name in spec.multi:
        return f"the vector {name!r} is a multivector, and is empty"
    there = ", ".join(sorted([*spec.dense, *spec.multi, *spec.sparse])) or "none"
    return f"the collection has no vector {name!r} of this kind; it has: {there}"


def run_search(search: Search, spec: VectorSpec, nearest: Nearest, retrieve: Retrieve) -> list[ScoredPoint]:
    """Search with what a place can do: nearest gives for each vector the best points, so
    many, with the payload key of `boost` where there is one; retrieve gives points."""
    for name, vector in search.vectors.items():
        check_vector(name, vector, spec)
    compared = {name: vector for name, vector in search.vectors.items() if not _is_empty(vector)}
    if not compared or search.limit < 1:
        return []
    best = ranked(_candidates(compared, _depth(search), nearest), search.boost)[: search.limit]
    scores = {hit.id: hit.score for hit in best}
    return [replace(point, score=scores[point.id]) for point in retrieve(list(scores))]


def _depth(search: Search) -> int:
    """How many of each vector's best points are looked at."""
    wanted = search.prefetch if len(search.vectors) > 1 else search.limit
    return max(wanted, BOOST_PREFETCH, search.prefetch) if search.boost else wanted


def _candidates(vectors: Mapping[str, Vector], depth: int, nearest: Nearest) -> list[list[ScoredPoint]]:
    """The best of each vector. Where the last one is as good as some that were not
    asked for, which of them it is would be the place's choice: ask for more."""
    asked = depth + MORE
    found = nearest(vectors, asked)
    while asked < MOST and any(_cut_among_equals(hits, depth, asked) for hits in found):
        asked *= 4
        found = nearest(vectors, asked)
    return [in_order(hits)[:depth] for hits in found]


def _cut_among_equals(hits: Sequence[ScoredPoint], depth: int, asked: int) -> bool:
    return len(hits) >= asked and all(_equal(one.score, next_.score) for one, next_ in pairwise(hits[depth - 1 :]))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(1.0, abs(one))


def in_order(hits: Iterable[ScoredPoint]) -> list[ScoredPoint]:
    """The best first, those of the same score by their ids."""
    groups: list[list[ScoredPoint]] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id)):
        if groups and _equal(groups[-1][-1].score, hit.score):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in sorted(group, key=lambda hit: hit.id)]


def ranked(lists: Sequence[list[ScoredPoint]], boost: tuple[str, str, float] | None) -> list[ScoredPoint]:
    """The points of all lists in one order: by their reciprocal ranks where there are
    several lists, and raised by `boost`."""
    if len(lists) == 1:
        return in_order(_raised(hit, boost) for hit in lists[0])
    return sorted((_raised(hit, boost) for hit in fused(lists)), key=lambda hit: (-hit.score, hit.id))


def fused(lists: Iterable[list[ScoredPoint]]) -> list[ScoredPoint]:
    """Reciprocal rank fusion, as Qdrant computes it."""
    points: dict[str, ScoredPoint] = {}
    for hits in lists:
        for rank, hit in enumerate(hits):
            before = points[hit.id].score if hit.id in points else 0.0
            points[hit.id] = replace(hit, score=before + 1 / (rank + RRF_K))
    return list(points.values())


def _raised(hit: ScoredPoint, boost: tuple[str, str, float] | None) -> ScoredPoint:
    if boost is None:
        return hit
    key, value, weight = boost
    here = hit.payload.get(key)
    fits = value in here if isinstance(here, list) else value == here
    return replace(hit, score=hit.score + weight) if fits else hit


def filter_from(where: Where | None, library: Any) -> Any:
    """The filter of a Qdrant library (`qdrant_edge` or `qdrant_client.models`, whose
    names are the same); None where everything fits."""
    if where is None or not (where.all or where.none):
        return None
    must = [_condition(key, value, library) for key, value in where.all.items()]
    must_not = [_condition(key, value, library) for key, value in where.none.items()]
    return library.Filter(must=must or None, must_not=must_not or None)


def _condition(key: str, wanted: str | int | Sequence[str | int], library: Any) -> Any:
    """A key has the value, or one of the values: a list of them is of one type."""
    if isinstance(wanted, (str, int)):
        return library.FieldCondition(key=key, match=library.MatchValue(value=wanted))
    texts = [value for value in wanted if isinstance(value, str)]
    numbers = [value for value in wanted if not isinstance(value, str)]
    lists = [values for values in (texts, numbers) if values] or [[]]
    fits = [library.FieldCondition(key=key, match=library.MatchAny(any=values)) for values in lists]
    return fits[0] if len(fits) == 1 else library.Filter(should=fits)


def in_batches(things: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """So many at a time."""
    return (things[start : start + size] for start in range(0, len(things), size))
