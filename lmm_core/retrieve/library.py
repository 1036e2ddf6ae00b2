"""Open a project's collection for reading and searching."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from ..errors import IndexChangedError, QuartoError, RetrieveError
from ..indexing.collection import NOTHING, project_store
from ..indexing.encoding import Encoder, compare_identity, make_encoder
from ..indexing.passages import Material, build_material
from ..indexing.records import FILES, FileRecord, read_records, read_statistics
from ..indexing.statistics import TermStatistics, count_terms
from ..models.languages.stemming import Stemmers
from ..settings.models import Models
from ..settings.project import Project
from ..store.folder_lock import is_awaited
from ..store.vector_store import VectorStore, Where, run_in_thread
from .ranking.lexical import LexicalIndex, fields_left_out

IDLE = 0.5  # seconds without use before the index is released; other processes wait longer
PATIENCE = 30.0  # seconds per auxiliary model; then the search continues without it

State = frozenset[FileRecord | int]  # file records, or without them the number of points


class Library:
    """A project's collection with its encoder, for the tasks of one event loop.

    The index is open only while it is used, so that other processes (`lmm index`) can have it in between. The
    statistics of the collection are read once, and again after a refresh. A search reads the documents it finds, or
    all if these were read before.

    patience: see `Encoder`; store: one that its owner keeps open. `order` are the sources in reading order."""

    def __init__(
        self, project: Project, models: Models, patience: float | None = PATIENCE, store: VectorStore | None = None
    ) -> None:
        self.project, self.models, self.patience = project, models, patience
        self.collection, self.synonyms = project.database.collection_name, project.synonyms
        self.order: Sequence[str] = []
        self._store, self._is_own = store, store is None
        self._known: dict[str, Any] | None = None  # identity of the collection
        self._encoder: Encoder | None = None
        self._users = 0
        self._opening = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._words: LexicalIndex | None = None  # without documents
        self._material: Material | None = None
        self._system = ""
        self._state: State = frozenset()
        self._revision: object | None = None  # of the store at the last check
        self._reading = threading.RLock()

    # Opening

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """Keep the index open in the block. Raise StoreError, ModelError and RetrieveError."""
        await self.open()
        try:
            yield self
        except IndexChangedError:
            self._known = None  # may change on a server while open
            raise
        finally:
            self._leave()

    async def open(self) -> None:
        """Open the index until `release`. Raise StoreError, ModelError and RetrieveError."""
        self._users += 1
        with ExitStack() as undoing:
            undoing.callback(self._leave_at_once)
            async with self._opening:
                if self._store is None:
                    self._store = await self._open_store()
                if self._known is None:
                    await self._read_identity(self._store)
            undoing.pop_all()

    def _leave_at_once(self) -> None:
        self._leave()
        self._release_idle()

    async def _open_store(self) -> VectorStore:
        opening = asyncio.ensure_future(run_in_thread(project_store, self.project, reads=True))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:  # release the orphaned resources
            opening.add_done_callback(_close_store)
            raise

    async def _read_identity(self, store: VectorStore) -> None:
        self.order = await asyncio.to_thread(reading_order, self.project)
        identity = await run_in_thread(store.metadata, self.collection)
        if identity is None:
            raise RetrieveError(NOTHING) if self._words is None else self._being_rebuilt()
        self._known, encoding = identity, self.project.embeddings.encoding
        self._encoder = make_encoder(self.project, self.models, identity, encoding, reads=True)
        self._encoder.patience = self.patience

    def _leave(self) -> None:
        """Release the unused index: at once if another process waits, else when idle."""
        self._users -= 1
        if self._users or not self._is_own:
            return
        if self._idle is not None:
            self._idle.cancel()
        if is_awaited(self.project.root / self.project.storage.folder):
            self.release()
        else:
            self._idle = asyncio.get_running_loop().call_later(IDLE, self._release_idle)

    def _release_idle(self) -> None:
        if not self._users:
            self.release()

    def release(self) -> None:
        """Release the index until the next use."""
        if self._is_own and self._store is not None:
            store, self._store, self._known = self._store, None, None
            store.close()

    async def close(self) -> None:
        """Release the index and close the models."""
        if self._idle is not None:
            self._idle.cancel()
        self.release()
        await self.models.close()

    @property
    def store(self) -> VectorStore:
        """The store of the index, while it is open."""
        assert self._store is not None
        return self._store

    @property
    def encoder(self) -> Encoder:
        """The encoder of an opened collection."""
        assert self._encoder is not None
        return self._encoder

    # Reading

    @property
    def language(self) -> str:
        """The code of the most frequent language."""
        return self._words.language if self._words else self._usual_language

    @property
    def _usual_language(self) -> str:
        return self.encoder.sparse.language if self.encoder.sparse else ""

    async def words(self) -> LexicalIndex:
        """Return the ranking by words without documents, sufficient to parse a question.

        Raise StoreError, or RetrieveError if nothing is indexed."""
        revision = self.store.revision
        if self._words is not None and revision is not None and revision is self._revision:
            return self._words
        return await run_in_thread(self._read_words)

    def _read_words(self) -> LexicalIndex:
        with self._reading:  # one reader suffices
            revision = self.store.revision
            state = self._read_state()
            if self._words is None or state != self._state:
                self._material = None
                wishes = [self.project.ask.system.strip(), self._first_system(state)]
                self._system = "\n\n".join(dict.fromkeys(filter(None, wishes)))
                statistics = self._read_statistics(state)
                if not statistics.texts:
                    raise RetrieveError(NOTHING)
                language = statistics.language or self._usual_language
                left_out = fields_left_out(self.project.embeddings)
                self._words = LexicalIndex(Material(), language, self.synonyms, statistics, left_out)
                self._state = state
            self._revision = revision
            return self._words

    def _read_state(self) -> State:
        """Return the file records, which change with a refresh."""
        identity = self.store.metadata(self.collection)
        if identity is None and self._words is not None:
            raise self._being_rebuilt()
        if identity is None:
            raise RetrieveError(f"There is no collection {self.collection!r}. Run `lmm index FILES` to make it.")
        compare_identity(self.collection, identity, self.encoder.identity())
        if self.store.metadata(self.collection + FILES) is None:
            return frozenset({self.store.count(self.collection)})
        return frozenset(read_records(self.store, self.collection).values())

    def _being_rebuilt(self) -> IndexChangedError:
        return IndexChangedError(f"The collection {self.collection!r} is being rebuilt: ask again in a moment.")

    def _read_statistics(self, state: State) -> TermStatistics:
        records = [record for record in state if isinstance(record, FileRecord)]
        are_all = sum(record.count for record in records) >= self.store.count(self.collection)
        stored = read_statistics(self.store, self.collection, records) if records and are_all else None
        return stored or count_terms(self._read_material(), Stemmers(self._usual_language))

    async def material(self) -> Material:
        """Return all passages and sections. Raise StoreError, or RetrieveError if there are none."""
        await self.words()
        return self._material if self._material is not None else await run_in_thread(self._read_material)

    def _read_material(self) -> Material:
        with self._reading:
            if self._material is None:
                self._material = build_material(self.store.scroll(self.collection), self.order)
                self._material.system = self._system
            return self._material

    async def documents(self, docids: Iterable[str]) -> Material:
        """Return some documents completely, or all if already loaded."""
        if self._material is not None:
            return self._material
        statistics = (self._words or await self.words()).statistics
        where = Where({"docid": sorted(set(docids))})
        points = await run_in_thread(lambda: list(self.store.scroll(self.collection, where)))
        part = build_material(points, self.order)
        part.system, part.types = self._system, statistics.types
        part.languages, part.titles = statistics.languages, statistics.titles
        return part

    def _first_system(self, state: State) -> str:
        ranks = {source: rank for rank, source in enumerate(self.order)}
        records = (record for record in state if isinstance(record, FileRecord))
        by_place = ((ranks.get(record.source, len(ranks)), record.source, record.system.strip()) for record in records)
        return min(by_place, default=(0, "", ""))[2]


async def open_library(project: Project, models: Models, store: VectorStore | None = None) -> Library:
    """Return the project's collection, open until its store is closed. Raise as `Library.open`."""
    library = Library(project, models, store=store)
    await library.open()
    return library


def _close_store(opened: asyncio.Future[VectorStore]) -> None:
    if not opened.exception():
        opened.result().close()


def reading_order(project: Project) -> list[str]:
    """Return a Quarto project's sources in chapter order; [] for the order of other notes."""
    if not (project.root / "_quarto.yml").is_file():
        return []
    from ..settings.quarto_inputs import find_inputs  # rarely needed

    try:
        inputs = find_inputs(project.root)
    except QuartoError:  # the index stays readable
        return []
    return [path.relative_to(project.root).as_posix() for path in inputs]
