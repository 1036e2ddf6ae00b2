"""A collection that is read and searched, on which retrieval and the tools stand."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Protocol

from ..errors import IndexChangedError, ModelError, RetrieveError
from ..index.collection import aquery_many
from ..index.encoding import Compared, Encoder, compare_identity
from ..index.passages import Material, Passage, build_material
from ..index.refresh import FILES, FileRecord, read_records
from ..store.threads import run_in_thread
from ..store.vector_store import KeepingStore, ScoredPoint, VectorStore, Where, revision_of
from .kept.collection import KeptCollection
from .kept.counts import read_counts
from .kept.making import Settings
from .kept.material import KeptMaterial
from .kept.tables import CAN_KEEP, Tables
from .ranking.lexical import LexicalIndex
from .ranking.synonyms import Synonymous

Hits = list[list[Passage]]
State = frozenset[FileRecord | int]  # the records of files, or, without records, the number of points


@dataclass(frozen=True)
class Found:
    """What a search found for each text, the best first: by words and by meaning, as far as they were compared."""

    compared: Compared
    words: Hits
    meaning: Hits

    def by_text(self) -> Hits:
        """Return for each text all that was found, each passage once."""
        if not (self.words and self.meaning):
            return self.words or self.meaning
        return [list({one.id: one for one in hits}.values()) for hits in map(chain, self.words, self.meaning)]


def records_in(state: State) -> list[FileRecord]:
    """Return the records of files in a state."""
    return [one for one in state if isinstance(one, FileRecord)]


@dataclass
class Library:
    """A collection with the encoder for it.

    order: sources in the order in which they are read; synonyms: names that mean the same, beside
    those that the texts give; system: how the teacher wants answers to sound, beside what the first
    page says of it. The collection is read once, and again after a refresh."""

    store: VectorStore
    collection: str
    encoder: Encoder
    order: Sequence[str] = ()
    synonyms: Synonymous = field(default_factory=dict)
    system: str = ""
    _material: Material | None = field(default=None, init=False)
    _lexical: LexicalIndex | None = field(default=None, init=False)
    _state: State = field(default=frozenset(), init=False)
    _tables: Tables | None = field(default=None, init=False)  # that the material is in, None for none
    _revision: object | None = field(default=None, init=False)  # of the store, when it was last looked at
    _reading: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """Return the library itself, as a context manager; see `Lender`."""
        yield self

    @property
    def language(self) -> str:
        """The code of the language that most passages are in, by what `material` returned last."""
        known = self._material.language if self._material else ""
        return known or (self.encoder.sparse.language if self.encoder.sparse else "")

    async def material(self) -> Material:
        """Return all passages and sections. Raise StoreError, or RetrieveError if there are none."""
        if (known := self._unchanged()) is not None:
            return known
        return await run_in_thread(self._read)

    def _unchanged(self) -> Material | None:
        """Return the material if nobody can have changed the collection since, None if that has to be looked at."""
        revision = revision_of(self.store)
        return self._material if revision is not None and revision is self._revision else None

    def _read(self) -> Material:
        with self._reading:  # many may ask at once, but only one reads
            return self._read_alone()

    def _read_alone(self) -> Material:
        revision = revision_of(self.store)
        state = self._look()
        if self._material is None or state != self._state:
            tables = self._find_tables(state, revision)
            read = KeptMaterial(tables) if tables else build_material(self.store.scroll(self.collection), self.order)
            read.system = "\n\n".join(dict.fromkeys(filter(None, [self.system, self._first_system(state)])))
            self._material, self._tables, self._state = read, tables, state
        if not self._material.passages:
            raise RetrieveError(f"the collection {self.collection!r} is empty: run `lmm index FILES` to fill it")
        self._revision = revision
        return self._material

    def _first_system(self, state: State) -> str:
        """Return the system message in the header of the first page in reading order, as it was indexed."""
        ranks = {source: rank for rank, source in enumerate(self.order)}
        found = ((ranks.get(one.source, len(ranks)), one.source, one.system.strip()) for one in records_in(state))
        return min(found, default=(0, "", ""))[2]

    def _find_tables(self, state: State, revision: object | None) -> Tables | None:
        """Return the tables that are kept of the collection, None if none can be kept, or it is small."""
        if not (CAN_KEEP and isinstance(self.store, KeepingStore)):
            return None
        language = self.encoder.sparse.language if self.encoder.sparse else ""
        settings = Settings(self.order, self.synonyms, language)
        return KeptCollection(self.store, self.collection, records_in(state), settings, revision).tables()

    async def lexical(self) -> LexicalIndex:
        """Return the ranking by words of what `material` returned last."""
        counted = self._lexical
        if counted is not None and counted.material is self._material:
            return counted
        return await run_in_thread(self._count_words)

    def _count_words(self) -> LexicalIndex:
        with self._reading:
            material = self._material or self._read_alone()
            if self._lexical is None or self._lexical.material is not material:
                counts = partial(read_counts, self._tables, self.language) if self._tables else None
                self._lexical = LexicalIndex(material, self.language, self.synonyms, counts)
            return self._lexical

    def compares(self) -> Compared:
        """Return what a search compares."""
        if self.encoder.embedder is None:
            return "words"
        return "both" if self.encoder.has_words else "meaning"

    def _look(self) -> State:
        """Return what the collection was made of; a refresh is noticed by a difference in this."""
        known = self.store.metadata(self.collection)
        if known is None and self._material is not None:
            raise IndexChangedError(f"The collection {self.collection!r}, which was there, is being made anew.")
        if known is None:
            raise RetrieveError(f"There is no collection {self.collection!r}. Run `lmm index FILES` to make it.")
        compare_identity(self.collection, known, self.encoder.identity())
        files = self.collection + FILES
        if self.store.metadata(files) is None:
            return frozenset({self.store.count(self.collection)})
        return frozenset(read_records(self.store, self.collection).values())

    async def find(
        self,
        texts: Sequence[str],
        without_vote: Sequence[str] = (),
        limit: int = 20,
        where: Where | None = None,
        kind: str = "",
        miss: Callable[[str], None] | None = None,
    ) -> Found:
        """Return the passages that fit texts best, summaries included.

        without_vote: further texts; what they alone find comes behind what the first text finds;
        kind: put passages of this type first; miss: told why words alone were compared if the
        embedding model failed; None: that is an error. The search is in what `material` returned
        last, since that is where a refresh is noticed. Raise StoreError or ModelError."""
        compared, words, meaning = self.compares(), Hits(), Hits()
        if compared != "meaning":
            words = await self._search(texts, without_vote, limit, where, kind, "words")
        if compared != "words":
            try:
                meaning = await self._search(texts, without_vote, limit, where, kind, "meaning")
            except ModelError as error:
                if compared == "meaning" or miss is None:
                    raise
                miss(str(error))
                compared = "words"
        return Found(compared, words, meaning)

    async def _search(
        self, texts: Sequence[str], without_vote: Sequence[str], limit: int, where: Where | None, kind: str,
        compared: Compared,
    ) -> Hits:  # fmt: skip
        material, every = self._material or await self.material(), [*texts, *without_vote]
        languages = sorted(filter(None, material.languages))
        found = await aquery_many(  # without payloads, since the passages are in the material
            self.store, self.collection, self.encoder, every, limit, where, kind, compared, languages, payload=False,
            checked=self._unchanged() is not None,
        )  # fmt: skip
        hits = [[passage for point in points if (passage := _found(point, material))] for points in found]
        if any(found) and not any(hits):
            raise IndexChangedError(
                f"The collection {self.collection!r} was made anew while it was searched: ask again."
            )
        return put_behind(hits[: len(texts)], hits[len(texts) :])


def put_behind(found: Hits, further: Hits) -> Hits:
    """Return what several texts found, with what further texts alone found behind the hits of the first."""
    known = {one.id for many in found for one in many}
    new = {one.id: one for many in further for one in many if one.id not in known}
    return [[*found[0], *new.values()], *found[1:]]


class Lender(Protocol):
    """Something that lends a library for a question or a call.

    It is a `Library` itself, or an object that opens one for that time."""

    def use(self) -> AbstractAsyncContextManager[Library]:
        """Return the library, to be used within the block.

        Raise StoreError, ModelError or RetrieveError."""
        ...


def _found(point: ScoredPoint, material: Material) -> Passage | None:
    """Return the passage of a point, or None for one written since the material was read."""
    passage = material.passages.get(point.id)
    return passage and passage.scored(point.score)
