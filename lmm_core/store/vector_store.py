"""Define the vector store protocol: collections of points with named vectors.

Stores are synchronous; asynchronous callers use `run_in_thread`. All places (a folder, memory, a server) return the
same points in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeGuard, TypeVar, runtime_checkable

from ..models.embedders.embedder import Sparse

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from .qdrant_store import ServerStore

Dense = list[float]
Vector = Dense | list[Dense] | Sparse
PayloadIndexes = Mapping[str, Literal["keyword", "integer"]]
KEY_VARIABLE = "QDRANT_API_KEY"
THREADS = 8

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class VectorSpec:
    """The vectors of a collection, by name.

    dense: dimensions, compared by cosine
    multi: dimensions of multivectors, compared by best matches (MAX_SIM)
    sparse: names, weighted by inverse document frequency"""

    dense: Mapping[str, int] = field(default_factory=dict)
    multi: Mapping[str, int] = field(default_factory=dict)
    sparse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point to store; `id` is a UUID as text."""

    id: str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """A point returned by a store. score: 0 if it was not compared with a query."""

    id: str
    payload: dict[str, Any]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Where:
    """A filter: each key of `all` has the value (or one of them), and no key of `none` does."""

    all: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)
    none: Mapping[str, str | int | Sequence[str | int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """A query. The results for several vectors are fused by reciprocal ranks (RRF)."""

    vectors: Mapping[str, Vector]
    limit: int
    where: Where | None = None


@runtime_checkable
class VectorStore(Protocol):
    """The protocol of stores. All methods raise StoreError."""

    @property
    def revision(self) -> object | None:
        """An object replaced after each change, or None if other processes may change the store."""
        return None

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""

    def create(self, name: str, spec: VectorSpec, metadata: Mapping[str, Any], indexes: PayloadIndexes) -> None:
        """Create a collection. Raise StoreError if it exists.

        metadata: JSON values; indexes: payload keys to filter by, with the types of their values"""

    def metadata(self, name: str) -> dict[str, Any] | None:
        """Return the metadata given to `create`, or None if there is no such collection."""

    def drop(self, name: str) -> None:
        """Remove a collection if it exists."""

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Insert or replace points by id.

        They survive a killed process at once, and a power cut after `close`."""

    def write_ahead(self, name: str, points: Sequence[Point]) -> None:
        """Write points without vectors, which announce later changes.

        Unlike other writes they survive a power cut at once; opening the store then restores them. A server needs no
        such log."""
        self.upsert(name, points)

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace whole payloads by id; unknown ids are ignored."""

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove points; unknown ids are ignored."""

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """Yield all matching points by id, with the payload or only some keys."""

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        """Return points in the order of ids; unknown ones are ignored."""

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """Return the best points by score, then id."""

    def count(self, name: str) -> int:
        """Return the exact number of points."""

    def facet(self, name: str, key: str) -> dict[str, int]:
        """Count points by value of a keyword in the payload."""

    def close(self) -> None:
        """Release files and connections. Closing twice is harmless."""


def is_server(store: VectorStore) -> TypeGuard[ServerStore]:
    """Return True for a server's store, which has aliases."""
    return hasattr(store, "switch")


# Conversion to the classes of `library`: `qdrant_edge` or `qdrant_client.models`, which have equal names


def vector_for(vector: Vector, library: Any) -> Any:
    """Return a vector as the library takes it."""
    if not isinstance(vector, Sparse):
        return vector
    return library.SparseVector(indices=vector.indices, values=vector.values)


def filter_from(where: Where | None, library: Any) -> Any:
    """Return the filter for a Where, or None to match every point."""
    if where is None or not (where.all or where.none):
        return None
    must = [_condition(key, value, library) for key, value in where.all.items()]
    must_not = [_condition(key, value, library) for key, value in where.none.items()]
    return library.Filter(must=must or None, must_not=must_not or None)


def _condition(key: str, accepted: str | int | Sequence[str | int], library: Any) -> Any:
    if isinstance(accepted, str | int):
        return library.FieldCondition(key=key, match=library.MatchValue(value=accepted))
    return library.FieldCondition(key=key, match=library.MatchAny(any=list(accepted)))


# Threads


async def run_in_thread(work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """Run work in our own pool, so that a silent server blocks no other threads. Cancelling does not stop it."""
    import asyncio

    return await asyncio.wrap_future(_pool().submit(work, *args, **kwargs))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(THREADS, "lmm-store")
