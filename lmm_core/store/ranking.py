"""Ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

from .points import check_vector, is_empty
from .vector_store import ScoredPoint, Search, Vector, VectorSpec

RRF_K = 2  # Qdrant's own
BOOST_PREFETCH = 500  # so many are looked at for those that are raised
MORE = 16  # so many more than wanted are asked for: ties at the end
MOST = 1000  # so many are asked for at most because of ties
SAME = 1e-6  # scores that differ by less are one: places compute in single precision

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


def run_search(search: Search, spec: VectorSpec, place: Searching) -> list[ScoredPoint]:
    """Search with what a place can do."""
    for name, vector in search.vectors.items():
        check_vector(name, vector, spec)
    compared = {name: vector for name, vector in search.vectors.items() if not is_empty(vector)}
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
