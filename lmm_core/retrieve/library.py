"""A collection that is read and searched: what retrieval and the tools stand on."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from ..errors import RetrieveError
from ..index.collection import aquery_many
from ..index.encoding import Encoder
from ..index.refresh import FILES
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, VectorStore, Where
from .passages import Material, Passage, build_material


@dataclass
class Library:
    """A collection with the encoder for it. `order`: sources in the order in which they are
    read. What is in it is read once, and again after a refresh."""

    store: VectorStore
    collection: str
    encoder: Encoder
    order: Sequence[str] = ()
    _material: Material | None = field(default=None, init=False)
    _state: frozenset[tuple[str, str]] = field(default=frozenset(), init=False)
    _reading: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """The library itself; one that is shared (`SharedLibrary`) is open within the block."""
        yield self

    @property
    def language(self) -> str:
        """Of the texts: the name that the sparse encoder goes by (`english`), or ""."""
        return self.encoder.sparse.language if self.encoder.sparse else ""

    async def material(self) -> Material:
        """All passages and sections. Raises StoreError, and RetrieveError where there are
        none."""
        return await run_in_thread(self._read)

    def _read(self) -> Material:
        with self._reading:  # many may ask at once: one reads
            return self._read_alone()

    def _read_alone(self) -> Material:
        state = self._look()
        if self._material is None or state != self._state:
            self._material = build_material(self.store.scroll(self.collection), self.order)
            self._state = state
        if not self._material.passages:
            raise RetrieveError(f"the collection {self.collection!r} is empty: lmm index FILES fills it")
        return self._material

    def _look(self) -> frozenset[tuple[str, str]]:
        """What the collection was made of: by this a refresh is noticed."""
        if self.store.metadata(self.collection) is None:
            raise RetrieveError(f"there is no collection {self.collection!r}: lmm index FILES makes it")
        files = self.collection + FILES
        if self.store.metadata(files) is None:
            return frozenset({("", str(self.store.count(self.collection)))})
        return frozenset((point.id, str(point.payload)) for point in self.store.scroll(files))

    async def search(
        self, texts: Sequence[str], limit: int = 20, kind: str = "", only: bool = False, words: bool = False
    ) -> list[list[Passage]]:
        """For each text the passages that fit it best, the best first; summaries are among
        them. kind: passages of this type come first; only: no others; words: by the words of
        the texts alone, without the embedding model. It searches in what `material` gave last:
        a refresh is looked for there. Raises StoreError and ModelError."""
        material = self._material or await self.material()
        where = Where({"type": kind}) if kind and only else None
        found = await aquery_many(self.store, self.collection, self.encoder, texts, limit, where, kind, words)
        return [[passage for point in points if (passage := _found(point, material))] for points in found]


class Lender(Protocol):
    """Lends a library for a question or a call: a `Library` itself, or what opens it for that."""

    def use(self) -> AbstractAsyncContextManager[Library]:
        """The library, to be used within the block. Raises StoreError, ModelError and
        RetrieveError."""
        ...


def _found(point: ScoredPoint, material: Material) -> Passage | None:
    """The passage of a point; None for one written since the material was read."""
    passage = material.passages.get(point.id)
    return passage and replace(passage, score=point.score)
