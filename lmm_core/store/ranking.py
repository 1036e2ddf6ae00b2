"""Order results equally in every place.

Places differ in the order of equal scores, and in last digits. So each vector is searched for separately, and results
are fused here as in Qdrant (RRF).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

from .points import check_vector, is_empty
from .vector_store import ScoredPoint, Search, Vector, VectorSpec

RRF_K = 2  # Qdrant's own
PREFETCH = 50  # results of each vector that are fused
MORE = 16  # additional points requested, because of ties at the end
MOST = 1000  # maximum requested because of ties
SAME = 1e-6  # scores within this are equal: places compute in single precision

Hit = tuple[str, float]  # a point's id and score
Nearest = Callable[[Mapping[str, Vector], int], list[list[Hit]]]  # the best points for each vector, up to a limit


def run_search(
    search: Search, spec: VectorSpec, nearest: Nearest, retrieve: Callable[[list[str]], list[ScoredPoint]]
) -> list[ScoredPoint]:
    """Return the results of a search, best first. Raise StoreError if a vector does not fit."""
    for name, vector in search.vectors.items():
        check_vector(name, vector, spec)
    compared = {name: vector for name, vector in search.vectors.items() if not is_empty(vector)}
    if not compared or search.limit < 1:
        return []
    depth = PREFETCH if len(search.vectors) > 1 else search.limit
    count = depth + MORE
    lists = nearest(compared, count)
    while count < MOST and any(_cut_among_equals(hits, depth, count) for hits in lists):
        count *= 4  # else the place would break ties
        lists = nearest(compared, count)
    lists = [sort_hits(hits)[:depth] for hits in lists]
    hits = lists[0] if len(lists) == 1 else sort_hits(fuse_ranks(lists).items())
    best = dict(hits[: search.limit])
    return [ScoredPoint(point.id, point.payload, best[point.id]) for point in retrieve(list(best))]


def _cut_among_equals(hits: Sequence[Hit], depth: int, count: int) -> bool:
    return len(hits) >= count and all(
        _equal(score, following) for (_, score), (_, following) in pairwise(hits[depth - 1 :])
    )


def sort_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Sort hits by score, then id."""
    groups: list[list[Hit]] = []
    for hit in sorted(hits, key=itemgetter(1), reverse=True):
        if groups and _equal(groups[-1][-1][1], hit[1]):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return [hit for group in groups for hit in (sorted(group) if len(group) > 1 else group)]


def _equal(score: float, other: float) -> bool:
    return abs(score - other) <= SAME * max(1.0, abs(score))


def fuse_ranks(lists: Iterable[list[Hit]]) -> dict[str, float]:
    """Return the scores of reciprocal rank fusion, as Qdrant computes them."""
    scores: dict[str, float] = {}
    for hits in lists:
        for rank, (at, _) in enumerate(hits):
            scores[at] = scores.get(at, 0.0) + 1 / (rank + RRF_K)
    return scores
