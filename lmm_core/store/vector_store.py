"""The vector store protocol: points with named vectors in collections.

A store is synchronous; asynchronous callers use `asyncio.to_thread`. Every place (a
folder, memory, a server) gives the same points in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from ..models.embedders.embedder import Sparse

Dense = list[float]
Vector = Dense | list[Dense] | Sparse


@dataclass(frozen=True, slots=True)
class VectorSpec:
    """The vectors of a collection by name. dense: dimensions, compared by cosine; multi:
    dimensions of multivectors (compared by the best match of each, MAX_SIM); sparse: names
    of sparse vectors, weighed by IDF."""

    dense: Mapping[str, int] = field(default_factory=dict)
    multi: Mapping[str, int] = field(default_factory=dict)
    sparse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """What is stored: `id` is a UUID as text."""

    id: str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """What is found; `score` is 0 where nothing was compared."""

    id: str
    payload: dict[str, Any]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Where:
    """Which points: each key of `all` has the value (or one of the values), none of
    `none` has."""

    all: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)
    none: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """A query. vectors: by the name of the vector that each is compared with; several are
    fused by reciprocal ranks (Qdrant's RRF with its own k), each with `prefetch`
    candidates. boost: payload key and value to what is added to the score where they
    fit, after fusion (what Qdrant's formula query does)."""

    vectors: Mapping[str, Vector]
    limit: int
    prefetch: int = 50
    where: Where | None = None
    boost: tuple[str, str, float] | None = None


@runtime_checkable
class VectorStore(Protocol):
    """A place for collections. All methods raise StoreError."""

    def collections(self) -> list[str]:
        """The names of all collections, sorted."""
        ...

    def create(
        self,
        name: str,
        spec: VectorSpec,
        metadata: Mapping[str, Any],
        indexes: Mapping[str, Literal["keyword", "integer"]],
    ) -> None:
        """Make a collection; one of the name must not be there. `metadata` (JSON values)
        is remembered with it, `indexes` are payload keys that are filtered."""
        ...

    def metadata(self, name: str) -> dict[str, Any] | None:
        """What `create` was given; None where there is no such collection."""
        ...

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        ...

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write points, in place of those with the same ids. They are safe on disk (or in
        the server) when this returns."""
        ...

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Put whole payloads in place of those of the points with these ids."""
        ...

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do not matter."""
        ...

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """All points that fit, in the order of their ids, with the payload (of it, the
        keys named)."""
        ...

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        """The points with these ids, in this order; those that are not there are left out."""
        ...

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """The best points, the best first; equal ones in the order of their ids."""
        ...

    def count(self, name: str, where: Where | None = None) -> int:
        """How many points fit, exactly."""
        ...

    def facet(self, name: str, key: str) -> dict[str, int]:
        """How many points there are for each value of a keyword payload key."""
        ...

    def close(self) -> None:
        """Let files and connections go. Closing twice does not matter."""
        ...
