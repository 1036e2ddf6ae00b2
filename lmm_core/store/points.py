"""What is the same in every place: which points and names are taken, how results of
several vectors become one order.

Places differ in how they order points of the same score, and in the last digits of
scores. So each vector is searched for itself, and what follows is done here, as Qdrant
does it (its RRF, its formula query of score + weight): the order is the same everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import Any, Protocol
from uuid import UUID

from ..errors import StoreError
from ..files.names import name_problem
from ..models.embedders.embedder import Sparse
from .vector_store import Point, ScoredPoint, Search, Vector, VectorSpec, Where

RRF_K = 2  # Qdrant's own
BOOST_PREFETCH = 500  # so many are looked at for those that are raised
MORE = 16  # so many more than wanted are asked for: ties at the end
MOST = 1000  # so many are asked for at most because of ties
SAME = 1e-6  # scores that differ by less are one: places compute in single precision

_WRITTEN = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch

Hit = tuple[str, float]  # a point's id and score


class Searching(Protocol):
    """What a place does of a search."""

    def nearest(self, vectors: Mapping[str, Vector], limit: int) -> list[list[Hit]]:
        """For each vector the best points, so many, the best first."""
        ...

    def fitting(self, ids: Sequence[str], key: str, value: str) -> list[str]:
        """Those of the points that have the value."""
        ...

    def retrieve(self, ids: Sequence[str]) -> list[ScoredPoint]:
        """The points, in this order."""
        ...


def checked_name(name: str) -> str:
    """A collection's name, where it is one: it becomes a folder's name, and a URL's part."""
    if problem := name_problem(name):
        raise StoreError(f"{name!r:.250} cannot be the name of a collection: {problem}")
    return name


def checked_id(text: str) -> str:
    """A point's id as Qdrant writes it."""
    if isinstance(text, str) and _WRITTEN(text):
        return text
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
    if at == point.id and not any(map(_is_empty, point.vectors.values())):
        return point
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


def run_search(search: Search, spec: VectorSpec, place: Searching) -> list[ScoredPoint]:
    """Search with what a place can do."""
    for name, vector in search.vectors.items():
        check_vector(name, vector, spec)
    compared = {name: vector for name, vector in search.vectors.items() if not _is_empty(vector)}
    if not compared or search.limit < 1:
        return []
    lists = _candidates(compared, _depth(search), place)
    scores = dict(lists[0]) if len(lists) == 1 else fused(lists)
    if search.boost and scores:
        key, value, weight = search.boost
        scores |= {at: scores[at] + weight for at in place.fitting(list(scores), key, value)}
    best = in_order(list(scores.items()))[: search.limit]
    return [replace(point, score=scores[point.id]) for point in place.retrieve([at for at, _ in best])]


def _depth(search: Search) -> int:
    """How many of each vector's best points are looked at."""
    wanted = search.prefetch if len(search.vectors) > 1 else search.limit
    return max(wanted, BOOST_PREFETCH, search.prefetch) if search.boost else wanted


def _candidates(vectors: Mapping[str, Vector], depth: int, place: Searching) -> list[list[Hit]]:
    """The best of each vector. Where the last one is as good as some that were not
    asked for, which of them it is would be the place's choice: ask for more."""
    asked = depth + MORE
    found = place.nearest(vectors, asked)
    while asked < MOST and any(_cut_among_equals(hits, depth, asked) for hits in found):
        asked *= 4
        found = place.nearest(vectors, asked)
    return [in_order(hits)[:depth] for hits in found]


def _cut_among_equals(hits: Sequence[Hit], depth: int, asked: int) -> bool:
    return len(hits) >= asked and all(_equal(one, after) for (_, one), (_, after) in pairwise(hits[depth - 1 :]))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(1.0, abs(one))


def in_order(hits: Iterable[Hit]) -> list[Hit]:
    """The best first, those of the same score by their ids."""
    groups: list[list[Hit]] = []
    for hit in sorted(hits, key=itemgetter(1), reverse=True):
        if groups and _equal(groups[-1][-1][1], hit[1]):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in (sorted(group) if len(group) > 1 else group)]


def fused(lists: Iterable[list[Hit]]) -> dict[str, float]:
    """Reciprocal rank fusion, as Qdrant computes it."""
    scores: dict[str, float] = {}
    for hits in lists:
        for rank, (at, _) in enumerate(hits):
            scores[at] = scores.get(at, 0.0) + 1 / (rank + RRF_K)
    return scores


def filter_from(where: Where | None, library: Any) -> Any:
    """The filter of a Qdrant library (`qdrant_edge` or `qdrant_client.models`, whose
    names are the same); None where everything fits."""
    if where is None or not (where.all or where.none):
        return None
    must = [_condition(key, value, library) for key, value in where.all.items()]
    must_not = [_condition(key, value, library) for key, value in where.none.items()]
    return library.Filter(must=must or None, must_not=must_not or None)


def among(points: Any, key: str, value: str, library: Any) -> Any:
    """The filter for those of some points (a HasIdCondition) that have a value."""
    return library.Filter(must=[points, _condition(key, value, library)])


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
