"""A collection that is read and searched, on which retrieval and the tools stand."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from ..errors import IndexChangedError, ModelError, RetrieveError
from ..index.collection import aquery_many
from ..index.encoding import Compared, Encoder, compare_identity
from ..index.passages import Material, Passage, build_material
from ..index.refresh import FILES, FileRecord, read_records
from ..index.statistics import TermStatistics, count_terms, unpack_statistics
from ..models.languages.stemming import Stemmers
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, VectorStore, Where, revision_of
from .ranking.lexical import LexicalIndex
from .ranking.synonyms import Synonymous

Hits = list[list[Passage]]
State = frozenset[FileRecord | int]  # the records of files, or, without records, the number of points


@dataclass(frozen=True)
class Found:
    """Hits of a search for each text, the best first: by words and by meaning, as far as they were compared.

    lexical: the ranking of the documents in which it was found."""

    compared: Compared
    words: Hits
    meaning: Hits
    lexical: LexicalIndex

    def by_text(self) -> Hits:
        """Return for each text all that was found, each passage once."""
        if not (self.words and self.meaning):
            return self.words or self.meaning
        return [list({one.id: one for one in hits}.values()) for hits in map(chain, self.words, self.meaning)]


@dataclass
class Library:
    """A collection with the encoder for it.

    order: sources in the order in which they are read; synonyms: names that mean the same; system: how the teacher
    wants answers to sound, beside what the first page says of it. The statistics of the collection are read once, and
    again after a refresh; a search reads the documents that it finds, or all if they are read already."""

    store: VectorStore
    collection: str
    encoder: Encoder
    order: Sequence[str] = ()
    synonyms: Synonymous = field(default_factory=dict)
    system: str = ""
    _words: LexicalIndex | None = field(default=None, init=False)  # of no documents
    _material: Material | None = field(default=None, init=False)
    _system: str = field(default="", init=False)
    _state: State = field(default=frozenset(), init=False)
    _revision: object | None = field(default=None, init=False)  # of the store, when it was last looked at
    _reading: threading.RLock = field(default_factory=threading.RLock, init=False, repr=False)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """Return the library itself, as a context manager; see `Lender`."""
        yield self

    @property
    def language(self) -> str:
        """The code of the language that most passages are in, by what `words` returned last."""
        return self._words.language if self._words else self._usual_language

    @property
    def _usual_language(self) -> str:
        return self.encoder.sparse.language if self.encoder.sparse else ""

    async def words(self) -> LexicalIndex:
        """Return the ranking by words as it is without any documents: all that a question itself needs.

        Raise StoreError, or RetrieveError if nothing is indexed."""
        revision = revision_of(self.store)
        if self._words is not None and revision is not None and revision is self._revision:
            return self._words
        return await run_in_thread(self._read_words)

    def _read_words(self) -> LexicalIndex:
        with self._reading:  # many may ask at once, but only one reads
            revision = revision_of(self.store)
            state = self._look()
            if self._words is None or state != self._state:
                self._material = None
                self._system = "\n\n".join(dict.fromkeys(filter(None, [self.system, self._first_system(state)])))
                statistics = self._read_statistics()
                if not statistics.texts:
                    raise RetrieveError(
                        f"the collection {self.collection!r} is empty: run `lmm index FILES` to fill it"
                    )
                self._system = "\n\n".join(dict.fromkeys(filter(None, [self.system, self._first_system(state)])))
                language = statistics.language or self._usual_language
                self._words = LexicalIndex(Material(), language, self.synonyms, statistics)
                self._state = state
            self._revision = revision
            return self._words

    def _read_statistics(self) -> TermStatistics:
        """Return the statistics of all texts: as they are stored, or else counted."""
        records = list(read_records(self.store, self.collection, statistics=True).values())
        stored = [unpack_statistics(record.statistics) for record in records if record.statistics]
        if len(stored) < len(records) or sum(one.count for one in records) < self.store.count(self.collection):
            return count_terms(self._read_material(), Stemmers(self._usual_language))
        whole = TermStatistics()
        for statistics in stored:
            whole.update(statistics)
        return whole

    async def material(self) -> Material:
        """Return all passages and sections. Raise StoreError, or RetrieveError if there are none."""
        await self.words()
        return self._material if self._material is not None else await run_in_thread(self._read_material)

    def _read_material(self) -> Material:
        with self._reading:
            if self._material is not None:
                return self._material
            material = build_material(self.store.scroll(self.collection), self.order)
            material.system = self._system
            self._material = material
            return material

    async def documents(self, docids: Iterable[str]) -> Material:
        """Return some documents with all that is in them, or all documents if they are read already."""
        if self._material is not None:
            return self._material
        whole = (self._words or await self.words()).statistics
        where = Where({"docid": sorted(set(docids))})
        points = await run_in_thread(lambda: list(self.store.scroll(self.collection, where)))
        part = build_material(points, self.order)
        part.system, part.kinds, part.languages, part.titles = self._system, whole.kinds, whole.languages, whole.titles
        return part

    def _first_system(self, state: State) -> str:
        """Return the system message in the header of the first page in reading order, as it was indexed."""
        ranks = {source: rank for rank, source in enumerate(self.order)}
        records = (one for one in state if isinstance(one, FileRecord))
        by_place = ((ranks.get(one.source, len(ranks)), one.source, one.system.strip()) for one in records)
        return min(by_place, default=(0, "", ""))[2]

    async def lexical(self) -> LexicalIndex:
        """Return the ranking by words of all documents. Raise as `material` does."""
        material = await self.material()
        return (await self.words()).within(material)

    def compares(self) -> Compared:
        """Return what a search compares."""
        if self.encoder.embedder is None:
            return "words"
        return "both" if self.encoder.has_words else "meaning"

    def _look(self) -> State:
        """Return what the collection was made of; a refresh is noticed by a difference in this."""
        known = self.store.metadata(self.collection)
        if known is None and self._words is not None:
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
        embedding model failed; None: that is an error. Raise StoreError or ModelError."""
        every, compared = [*texts, *without_vote], self.compares()
        by_words: list[list[ScoredPoint]] = []
        by_meaning: list[list[ScoredPoint]] = []
        if compared != "meaning":
            by_words = await self._search(every, limit, where, kind, "words")
        if compared != "words":
            try:
                by_meaning = await self._search(every, limit, where, kind, "meaning")
            except ModelError as error:
                if compared == "meaning" or miss is None:
                    raise
                miss(str(error))
                compared = "words"
        every_point = [point for points in (*by_words, *by_meaning) for point in points]
        material = await self.documents(str(point.payload.get("docid", "")) for point in every_point)
        if every_point and not any(point.id in material.passages for point in every_point):
            raise IndexChangedError(
                f"The collection {self.collection!r} was made anew while it was searched: ask again."
            )
        words, meaning = (_passages(found, material, len(texts)) for found in (by_words, by_meaning))
        return Found(compared, words, meaning, (self._words or await self.words()).within(material))

    async def _search(
        self, texts: Sequence[str], limit: int, where: Where | None, kind: str, compared: Compared
    ) -> list[list[ScoredPoint]]:
        languages = sorted(filter(None, (self._words or await self.words()).statistics.languages))
        return await aquery_many(
            self.store, self.collection, self.encoder, texts, limit, where, kind, compared, languages, checked=True
        )


def _passages(found: Sequence[Sequence[ScoredPoint]], material: Material, votes: int) -> Hits:
    """Return the passages of what texts found, of which the first `votes` have a vote; see `put_behind`.

    A point that was written since the material was read has none."""
    passages = material.passages
    hits = [[passages[one.id].scored(one.score) for one in points if one.id in passages] for points in found]
    return put_behind(hits[:votes], hits[votes:]) if hits else []


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
