"""The order of results, the same in every place.

Places differ in the order of points with equal scores, and in the last digits of scores. So
each vector is searched for separately, and fusion and boost are computed here, the way Qdrant
does it (its RRF, and its formula query of score + weight).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Protocol

from .points import check_vector, is_empty
from .vector_store import ScoredPoint, Search, Vector, VectorSpec

RRF_K = 2  # Qdrant's own
BOOST_PREFETCH = 500  # candidates if some scores are raised
MORE = 16  # points requested beyond those wanted, because of ties at the end
MOST = 1000  # points requested at most because of ties
SAME = 1e-6  # scores that differ by less are equal, since places compute in single precision

Hit = tuple[str, float]  # a point's id and score


class Searching(Protocol):
    """The steps of a search that a place takes."""

    def nearest(self, vectors: Mapping[str, Vector], limit: int) -> list[list[Hit]]:
        """Return the best points for each vector, at most `limit`, best first."""
        ...

    def fitting(self, ids: Sequence[str], key: str, value: str) -> list[str]:
        """Return those of the points that have a value."""
        ...

    def retrieve(self, ids: Sequence[str]) -> list[ScoredPoint]:
        """Return the points in this order."""
        ...


def run_search(search: Search, spec: VectorSpec, place: Searching) -> list[ScoredPoint]:
    """Return the results of a search at a place, best first. Raise StoreError if a vector does not fit."""
    for name, vector in search.vectors.items():
        check_vector(name, vector, spec)
    compared = {name: vector for name, vector in search.vectors.items() if not is_empty(vector)}
    if not compared or search.limit < 1:
        return []
    lists = _candidates(compared, _depth(search), place)
    scores = dict(lists[0]) if len(lists) == 1 else fuse_ranks(lists)
    if search.boost and scores:
        key, value, weight = search.boost
        scores |= {at: scores[at] + weight for at in place.fitting(list(scores), key, value)}
    best = sort_hits(list(scores.items()))[: search.limit]
    return [ScoredPoint(point.id, point.payload, scores[point.id]) for point in place.retrieve([at for at, _ in best])]


def _depth(search: Search) -> int:
    """Return the number of best points of each vector that are looked at."""
    wanted = search.prefetch if len(search.vectors) > 1 else search.limit
    return max(wanted, BOOST_PREFETCH, search.prefetch) if search.boost else wanted


def _candidates(vectors: Mapping[str, Vector], depth: int, place: Searching) -> list[list[Hit]]:
    """Return the best points of each vector.

    If the last one has the same score as points beyond it, the place would choose between them.
    Then more are requested."""
    asked = depth + MORE
    found = place.nearest(vectors, asked)
    while asked < MOST and any(_cut_among_equals(hits, depth, asked) for hits in found):
        asked *= 4
        found = place.nearest(vectors, asked)
    return [sort_hits(hits)[:depth] for hits in found]


def _cut_among_equals(hits: Sequence[Hit], depth: int, asked: int) -> bool:
    return len(hits) >= asked and all(_equal(one, after) for (_, one), (_, after) in pairwise(hits[depth - 1 :]))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(1.0, abs(one))


def sort_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits, best first; those with equal scores by id."""
    groups: list[list[Hit]] = []
    for hit in sorted(hits, key=itemgetter(1), reverse=True):
        if groups and _equal(groups[-1][-1][1], hit[1]):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in (sorted(group) if len(group) > 1 else group)]


def fuse_ranks(lists: Iterable[list[Hit]]) -> dict[str, float]:
    """Return the scores of reciprocal rank fusion, as Qdrant computes them."""
    scores: dict[str, float] = {}
    for hits in lists:
        for rank, (at, _) in enumerate(hits):
            scores[at] = scores.get(at, 0.0) + 1 / (rank + RRF_K)
    return scores
