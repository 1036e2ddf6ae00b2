"""A collection that is read and searched, on which retrieval and the tools stand."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

from ..errors import IndexChangedError, LmmError, ModelError, QuartoError, RetrieveError, StoreError
from ..index.collection import aquery_many
from ..index.encoding import Compared, Encoder, compare_identity, make_encoder
from ..index.passages import Material, Passage, build_material
from ..index.records import FILES, FileRecord, read_records
from ..index.statistics import TermStatistics, count_terms, unpack_statistics
from ..index.stores import project_store
from ..models.languages.stemming import Stemmers
from ..settings.models import Models
from ..settings.project import Project
from ..settings.quarto_inputs import find_inputs
from ..store.folder_lock import Lending
from ..store.threads import run_in_thread
from ..store.vector_store import ScoredPoint, VectorStore, Where, revision_of
from .ranking.lexical import LexicalIndex
from .ranking.synonyms import Synonymous

NOTHING = "nothing is indexed yet: lmm index FILES"
IDLE = 1.0  # seconds without use after which a shared library releases the index
CLOSING = 3.0  # seconds that closing may take
PATIENCE = 30.0  # seconds for each model that helps to search; after that, the search goes on without it

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


async def open_library(
    project: Project, models: Models, store: VectorStore | None = None, patience: float | None = None
) -> Library:
    """Return the project's collection, to be read and searched. The caller closes its `store`.

    patience: see `Encoder`. Raise StoreError, ModelError, and RetrieveError if nothing is
    indexed."""
    database = project.database
    opened: VectorStore = store if store is not None else await asyncio.to_thread(project_store, project)
    try:
        known = await asyncio.to_thread(opened.metadata, database.collection_name)
        if known is None:
            raise RetrieveError(NOTHING)
        encoder = make_encoder(project, models, known, project.embeddings.encoding, reads=True)
        encoder.patience = patience
    except LmmError:
        opened.close()
        raise
    return Library(
        opened, database.collection_name, encoder, reading_order(project), project.synonyms, project.ask.system.strip()
    )


def reading_order(project: Project) -> list[str]:
    """Return the sources of a Quarto project in the order of its chapters.

    An empty list means that names give the order."""
    if not (project.root / "_quarto.yml").is_file():
        return []
    try:
        inputs = find_inputs(project.root)
    except QuartoError:  # what is indexed can be read all the same
        return []
    return [path.relative_to(project.root).as_posix() for path in inputs]


class SharedLibrary:
    """A project's library in a process that goes on, for one event loop.

    The index is open only while it is used, so that other processes (`lmm index`) can have it
    in between; each use sees it as it is then. What was read is kept until the index changes.
    patience: see `Encoder`."""

    def __init__(self, project: Project, models: Models, patience: float = PATIENCE) -> None:
        self.project, self.models, self.patience = project, models, patience
        self._library: Library | None = None
        self._known: dict[str, Any] | None = None
        self._opening: asyncio.Task[Library] | None = None
        self._lending = Lending(self._close, lambda: [project.root / project.storage.folder], IDLE)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """Open the library within the block. Raise StoreError, ModelError and RetrieveError.

        Many tasks can use it at once, but a block cannot stand within another."""
        async with self._lending.use():
            if self._opening is None:
                self._opening = asyncio.create_task(self._open())
                self._opening.add_done_callback(self._opened)
            library = await asyncio.shield(self._opening)  # if one user gives up, it goes on for the others
            try:
                yield library
            except IndexChangedError:
                self._open_again(library.store)
                raise

    def _open_again(self, store: VectorStore) -> None:
        """Look at the index anew for the next use, since it changed while it was open, as on a server it may."""
        if self._opening is not None and self._opening.done():
            self._opening = asyncio.create_task(self._open(store))
            self._opening.add_done_callback(self._opened)

    async def _open(self, opened: VectorStore | None = None) -> Library:
        """Open the library. opened: the store, if it is open."""
        order = await asyncio.to_thread(reading_order, self.project)
        store: VectorStore = await asyncio.to_thread(project_store, self.project) if opened is None else opened
        known = await asyncio.to_thread(_metadata, store, self.project.database.collection_name)
        if known is None and self._known is not None:
            store.close()
            raise IndexChangedError("The index, which was there, is being made anew.")
        if self._library is None or known is None or known != self._known:
            self._library = await open_library(self.project, self.models, store, self.patience)
        self._library.store, self._library.order = store, order
        self._known = known or self._known
        return self._library

    def _opened(self, opening: asyncio.Task[Library]) -> None:
        if opening.cancelled() or opening.exception():
            self._opening = None
        else:
            self._lending.watch()

    def _close(self) -> None:
        self._opening = None
        if self._library is not None:
            self._library.store.close()

    async def release(self, wait: float | None = None) -> None:
        """Release the index at once, until the next `use`.

        This is for callers that will block the event loop. wait: seconds for a server that is
        being asked to open the index, None for as long as that takes."""
        if self._opening is not None:
            await asyncio.wait([self._opening], timeout=wait)
            self._lending.close()
        self._lending.stop()

    async def close(self) -> None:
        """Release the index and close the models, without waiting long for a server that hangs."""
        await self.release(CLOSING)
        await self.models.close()


def _metadata(store: VectorStore, collection: str) -> dict[str, Any] | None:
    """Return `VectorStore.metadata`, and close the store if that fails."""
    try:
        return store.metadata(collection)
    except StoreError:
        store.close()
        raise
