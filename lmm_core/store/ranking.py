"""The order of results, the same in every place.

Places differ in the order of points with equal scores, and in the last digits of scores. So
each vector is searched for separately, and fusion and boost are computed here, the way Qdrant
does it (its RRF, and its formula query of score + weight).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import merge
from itertools import islice, pairwise
from operator import itemgetter
from typing import Protocol

from .points import check_vector, is_empty
from .vector_store import ScoredPoint, Search, Vector, VectorSpec

RRF_K = 2  # Qdrant's own
FEW = 32  # candidates of which it is asked whether they are raised, before all that might be are searched for
MORE = 16  # points requested beyond those wanted, because of ties at the end
MOST = 1000  # points requested at most because of ties
SAME = 1e-6  # scores that differ by less are equal, since places compute in single precision

Hit = tuple[str, float]  # a point's id and score
Having = tuple[str, str]  # a key of the payload, and the value that points have to have there


class Searching(Protocol):
    """The steps of a search that a place takes."""

    def nearest(self, vectors: Mapping[str, Vector], limit: int, having: Sequence[Having | None]) -> list[list[Hit]]:
        """Return the best points for each vector, at most `limit`, best first, for the first of `having` and so on.

        having: what the points have to have; None for all points."""
        ...

    def has_few(self, key: str, value: str) -> bool:
        """Return True if it is known that few points have a value; finding that out must be cheap."""
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
    found = _raise if search.boost else _best
    best = dict(found(compared, search, place))
    return [ScoredPoint(point.id, point.payload, best[point.id]) for point in place.retrieve(list(best))]


def _best(vectors: Mapping[str, Vector], search: Search, place: Searching) -> list[Hit]:
    """Return the best hits."""
    return _fuse(_candidates(vectors, search, place, None))[: search.limit]


def _fuse(lists: list[list[Hit]]) -> list[Hit]:
    """Return the hits of all lists by their common score, best first."""
    return sort_hits((dict(lists[0]) if len(lists) == 1 else fuse_ranks(lists)).items())


def _candidates(
    vectors: Mapping[str, Vector], search: Search, place: Searching, *having: Having | None
) -> list[list[Hit]]:
    """Return the best points of each vector, for each of `having`.

    If the last one has the same score as points beyond it, the place would choose between them.
    Then more are requested."""
    depth = search.prefetch if len(search.vectors) > 1 else search.limit
    asked = depth + MORE
    found = place.nearest(vectors, asked, having)
    while asked < MOST and any(_cut_among_equals(hits, depth, asked) for hits in found):
        asked *= 4
        found = place.nearest(vectors, asked, having)
    return [sort_hits(hits)[:depth] for hits in found]


def _raise(vectors: Mapping[str, Vector], search: Search, place: Searching) -> list[Hit]:
    """Return the best hits, after those with the boost's value were raised."""
    assert search.boost
    key, value, weight = search.boost
    ranked, raised = _candidates_and_raised(vectors, search, place, (key, value), lowered=weight < 0)
    of_value = [(at, score + weight) for at, score in ranked if at in raised]
    others = [(at, score) for at, score in ranked if at not in raised]
    return list(islice(merge(of_value, others, key=itemgetter(1), reverse=True), search.limit))


def _candidates_and_raised(
    vectors: Mapping[str, Vector], search: Search, place: Searching, boosted: Having, lowered: bool
) -> tuple[list[Hit], set[str]]:
    """Return the hits by their common score, best first, and the ids of those that have the boost's value.

    If few of the best candidates have it, points with the value are searched for on their own; those
    beyond the candidates follow them. If few points have it, they are searched for at once: that is
    cheaper than asking which candidates have it."""
    found = _candidates(vectors, search, place, *((None, boosted) if place.has_few(*boosted) else (None,)))
    lists, having = found[: len(vectors)], found[len(vectors) :]
    ranked = _fuse(lists)
    first = [at for at, _ in ranked[: max(FEW, 2 * search.limit)]]
    if not first:
        return [], set()
    raised = _ids(having).intersection(first) if having else set(place.fitting(first, *boosted))
    if len(raised) >= search.limit and not lowered:
        return ranked, raised
    having = having or _candidates(vectors, search, place, boosted)
    ranked = _fuse([_followed_by(hits, more) for hits, more in zip(lists, having, strict=True)])
    return ranked, raised | _ids(having)


def _ids(lists: list[list[Hit]]) -> set[str]:
    return {at for hits in lists for at, _ in hits}


def _followed_by(hits: list[Hit], more: list[Hit]) -> list[Hit]:
    """Return hits, and after them those of others that are not among them."""
    known = {at for at, _ in hits}
    return hits + [hit for hit in more if hit[0] not in known]


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
