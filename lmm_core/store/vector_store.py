"""The vector store protocol: points with named vectors, in collections.

A store is synchronous; asynchronous callers use `threads`. All places (a folder, memory, a
server) give the same points in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, runtime_checkable

from ..models.embedders.embedder import Sparse

if TYPE_CHECKING:
    from .qdrant_store import ServerStore

Dense = list[float]
Vector = Dense | list[Dense] | Sparse
PayloadIndexes = Mapping[str, Literal["keyword", "integer"]]


@dataclass(frozen=True, slots=True)
class VectorSpec:
    """The vectors of a collection, by name.

    dense: numbers of dimensions, compared by cosine; multi: numbers of dimensions of
    multivectors, compared by each one's best match (MAX_SIM); sparse: names of sparse vectors, weighted by how rare
    each of their numbers is."""

    dense: Mapping[str, int] = field(default_factory=dict)
    multi: Mapping[str, int] = field(default_factory=dict)
    sparse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point to be stored; `id` is a UUID as text."""

    id: str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """A point that was found; `score` is 0 if nothing was compared.

    It has the fields of Qdrant's class of this name, those that we do not ask for with their defaults."""

    id: str
    payload: dict[str, Any]
    score: float = 0.0
    version: int = 0
    vector: Any = None
    shard_key: int | str | None = None
    order_value: int | float | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """A filter of points by their payload.

    Every key of `all` has to have the value (or one of the values), and no key of `none` may."""

    all: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)
    none: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """A query.

    vectors: by the name of the vector to compare each with. The results of several are fused by
    reciprocal ranks (Qdrant's RRF with its own k), from `prefetch` candidates each."""

    vectors: Mapping[str, Vector]
    limit: int
    prefetch: int = 50
    where: Where | None = None


@runtime_checkable
class VectorStore(Protocol):
    """A place for collections. All methods raise StoreError."""

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        ...

    def create(self, name: str, spec: VectorSpec, metadata: Mapping[str, Any], indexes: PayloadIndexes) -> None:
        """Create a collection.

        metadata: JSON values that are kept with it; indexes: the payload keys to be filtered by. Raise
        StoreError if there is one of this name."""
        ...

    def metadata(self, name: str) -> dict[str, Any] | None:
        """Return the metadata that `create` was given, or None if there is no such collection."""
        ...

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        ...

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids.

        They outlive this process when this returns, and a power cut after `sync` or `close`."""
        ...

    def write_ahead(self, name: str, points: Sequence[Point]) -> None:
        """Write points without vectors that tell what is about to change, and survive a power cut.

        They hold again, whatever is written after them, unless the store is closed: of what was
        written then, a power cut may have taken any part. A server sees to that itself."""
        self.upsert(name, points)

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the whole payloads of points, given by id; unknown ids are ignored."""
        ...

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are ignored."""
        ...

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """Yield all points that fit, by id, with the payload or only its named keys."""
        ...

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        """Return the points with these ids in this order; unknown ids are left out."""
        ...

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """Return the best points, best first; those with equal scores by id."""
        ...

    def count(self, name: str, where: Where | None = None) -> int:
        """Return the exact number of points that fit."""
        ...

    def count_readable(self, name: str) -> int:
        """Return the number of points whose payload can be read. Raise StoreError if one cannot.

        A server sees to its files itself."""
        return self.count(name)

    def facet(self, name: str, key: str) -> dict[str, int]:
        """Return the number of points for each value of a keyword in the payload."""
        ...

    def sync(self, name: str) -> None:
        """Wait until what was written to a collection survives a power cut. A server sees to that itself."""
        return

    def close(self) -> None:
        """Release files and connections. Closing twice is harmless."""
        ...


def is_server(store: VectorStore) -> TypeGuard[ServerStore]:
    """Return True if a store is on a server, which many use, and where collections can have further names."""
    return hasattr(store, "switch")


def revision_of(store: VectorStore) -> object | None:
    """Return the object that stands for all that is in a store now: after each change it is another one.

    None means that others may write to it, too, so that only reading shows a change."""
    revision: object | None = getattr(store, "revision", None)
    return revision
