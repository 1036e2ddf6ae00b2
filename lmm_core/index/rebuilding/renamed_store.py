"""A store in which some collections have other names.

Whoever is given it works on the collections behind the names, even if other collections get these
names meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...store.vector_store import Point, ScoredPoint, Search, VectorSpec, VectorStore, Where


@dataclass(frozen=True)
class RenamedStore:
    """A store with the collections behind some names; all other names are their own.

    behind: the collection for each name."""

    store: VectorStore
    behind: Mapping[str, str]

    def _of(self, name: str) -> str:
        return self.behind.get(name, name)

    def collections(self) -> list[str]:
        """See `VectorStore`."""
        return self.store.collections()

    def create(
        self,
        name: str,
        spec: VectorSpec,
        metadata: Mapping[str, Any],
        indexes: Mapping[str, Literal["keyword", "integer"]],
    ) -> None:
        """See `VectorStore`."""
        self.store.create(self._of(name), spec, metadata, indexes)

    def metadata(self, name: str) -> dict[str, Any] | None:
        """See `VectorStore`."""
        return self.store.metadata(self._of(name))

    def drop(self, name: str) -> None:
        """See `VectorStore`."""
        self.store.drop(self._of(name))

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """See `VectorStore`."""
        self.store.upsert(self._of(name), points)

    def write_ahead(self, name: str, points: Sequence[Point]) -> None:
        """See `VectorStore`."""
        self.store.write_ahead(self._of(name), points)

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """See `VectorStore`."""
        self.store.set_payload(self._of(name), payloads)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """See `VectorStore`."""
        self.store.delete(self._of(name), ids)

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """See `VectorStore`."""
        return self.store.scroll(self._of(name), where, keys)

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        """See `VectorStore`."""
        return self.store.retrieve(self._of(name), ids)

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """See `VectorStore`."""
        return self.store.search(self._of(name), search)

    def count(self, name: str, where: Where | None = None) -> int:
        """See `VectorStore`."""
        return self.store.count(self._of(name), where)

    def facet(self, name: str, key: str) -> dict[str, int]:
        """See `VectorStore`."""
        return self.store.facet(self._of(name), key)

    def sync(self, name: str) -> None:
        """See `VectorStore`."""
        self.store.sync(self._of(name))

    def close(self) -> None:
        """See `VectorStore`."""
        self.store.close()
