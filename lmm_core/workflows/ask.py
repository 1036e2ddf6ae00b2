"""Asking a project's index: what the configuration says, put together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ..errors import LmmError, ModelError, QuartoError, RetrieveError, StoreError
from ..models.embedders.cross_encoder import CrossEncoder
from ..models.roles import parse_name
from ..models.sources import FASTEMBED, STAND_IN, known_sources
from ..quarto.setup import find_inputs
from ..retrieve.answer import Conversation
from ..retrieve.library import Lender, Library
from ..retrieve.queries import Expander, KeywordQueries, ModelQueries
from ..retrieve.rerank import CrossEncoderReranker, EndpointReranker, ModelReranker, NoReranker, Reranker
from ..retrieve.retriever import Retriever
from ..retrieve.tools import Tools
from ..scan.chat import REPLY_TOKENS
from ..settings.project import Project
from ..store.folder_lock import is_awaited
from ..store.threads import in_store
from ..store.vector_store import VectorStore
from .encode import encoder_for
from .index import client_from_config
from .models import Models

IDLE = 1.0  # seconds without use after which a shared library lets the index go
CLOSING = 3.0  # seconds
PATIENCE = 30.0  # seconds for each model that helps with looking up: then it is done without
TICK = 0.05  # seconds: as often it looks whether another process waits for it


async def open_library(
    project: Project, models: Models, store: VectorStore | None = None, patience: float | None = None
) -> Library:
    """The project's collection, to be read and searched. Closing the store (the library's
    `store`) is the caller's. patience: see `Encoder`. Raises StoreError, ModelError, and
    RetrieveError where nothing is indexed."""
    index = project.index
    opened: VectorStore = store if store is not None else await in_store(client_from_config, project)
    try:
        if await in_store(opened.metadata, index.collection) is None:
            raise RetrieveError("nothing is indexed yet: lmm index FILES")
        encoder = await encoder_for(opened, project, models, index.collection, index.encoding)
        encoder.patience = patience
    except LmmError:
        opened.close()
        raise
    return Library(opened, index.collection, encoder, reading_order(project))


def reading_order(project: Project) -> list[str]:
    """The sources of a Quarto project in the order of its chapters; else none, and names
    give the order."""
    if not (project.root / "_quarto.yml").is_file():
        return []
    try:
        inputs = find_inputs(project.root)
    except QuartoError:  # what is indexed can be read all the same
        return []
    return [path.relative_to(project.root).as_posix() for path in inputs]


class SharedLibrary:
    """A project's library in a process that goes on: open while it is used, so that others
    (`lmm index`) can have the index in between, and seen as it is then. What was read of it
    is kept until it changes. It belongs to one event loop. patience: see `Encoder`."""

    def __init__(self, project: Project, models: Models, patience: float = PATIENCE) -> None:
        self.project, self.models, self.patience = project, models, patience
        self._library: Library | None = None
        self._known: dict[str, Any] | None = None
        self._opening: asyncio.Task[Library] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._users, self._used, self._awaited = 0, 0.0, False

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Library]:
        """The library, open within the block; many can use it at once, a block in a block
        cannot. Raises StoreError, ModelError and RetrieveError."""
        while self._awaited:  # another process is first
            await asyncio.sleep(TICK)
        self._users += 1
        try:
            if self._opening is None:
                self._opening = asyncio.create_task(self._open())
                self._opening.add_done_callback(self._opened)
            yield await asyncio.shield(self._opening)  # it goes on for others where one user gives up
        finally:
            self._users -= 1
            self._used = time.monotonic()

    async def _open(self) -> Library:
        order = await asyncio.to_thread(reading_order, self.project)
        store = await in_store(client_from_config, self.project)
        known = await in_store(_metadata, store, self.project.index.collection)
        if self._library is None or known is None or known != self._known:
            self._library = await open_library(self.project, self.models, store, self.patience)
        self._library.store, self._library.order = store, order
        self._known = known
        return self._library

    def _opened(self, opening: asyncio.Task[Library]) -> None:
        if opening.cancelled() or opening.exception():
            self._opening = None
        else:
            self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Let the index go when nobody uses it, or another process waits for its folder."""
        while True:
            await asyncio.sleep(TICK)
            self._awaited = is_awaited(self.project.root / self.project.index.folder)
            if not self._users and (self._awaited or time.monotonic() - self._used > IDLE):
                break
        self._let_go()

    def _let_go(self) -> None:
        self._opening, self._awaited = None, False
        if self._library is not None:
            self._library.store.close()

    async def release(self, wait: float | None = None) -> None:
        """Let the index go at once: for who then keeps the event loop from going on, and has
        nothing to do with the index until the next `use`. wait: seconds for a server that is
        being asked for it, None for as long as that takes."""
        if self._opening is not None:
            await asyncio.wait([self._opening], timeout=wait)
            self._let_go()
        if self._watching is not None:
            self._watching.cancel()

    async def close(self) -> None:
        """Let the index and the models go; a server that hangs is not waited for long."""
        await self.release(CLOSING)
        await self.models.close()


def _metadata(store: VectorStore, collection: str) -> dict[str, Any] | None:
    """See `VectorStore.metadata`; the store is closed where that fails."""
    try:
        return store.metadata(collection)
    except StoreError:
        store.close()
        raise


def conversation(
    project: Project, models: Models, library: Lender, with_model: bool = True, tools: Tools | None = None,
    patience: float = PATIENCE,
) -> Conversation:  # fmt: skip
    """A conversation about a library, as `[ask]` says. with_model: whether a model may be
    asked; without one (or where none is configured), the best passages are the answer;
    patience: see `Retriever`. Raises ModelError and ConfigError."""
    ask = project.ask
    chats = with_model and models.name(project, "major").source != STAND_IN
    asker = models.asker(project, "major") if chats else None
    return Conversation(
        Retriever(library, _expander(project, models, chats), _reranker(project, models, chats), models.warn, patience),
        asker,
        tools if asker else None,
        ask.context,
        ask.level,
        ask.budget,
        ask.tool_calls,
        max(project.requests["major"].context_tokens - REPLY_TOKENS, 0),
        project.system,
    )


def _expander(project: Project, models: Models, chats: bool) -> Expander:
    wanted = project.ask.queries
    if wanted == "keywords" or not chats or models.name(project, "aux").source == STAND_IN:
        return KeywordQueries()
    return ModelQueries(models.asker(project, "aux"))


def _reranker(project: Project, models: Models, chats: bool) -> Reranker:
    """The reranker that `ask.rerank` names."""
    wanted = project.ask.rerank.strip()
    if wanted in ("", "none"):
        return NoReranker()
    if wanted == "model":
        return ModelReranker(models.asker(project, "aux")) if chats else NoReranker()
    sources = known_sources(project.sources)
    name = parse_name(wanted, sources)
    if name.source == FASTEMBED:
        return CrossEncoderReranker(CrossEncoder(name, project.root))
    if name.source not in sources:
        raise ModelError(f"ask.rerank: {wanted!r} cannot rerank: none, model, fastembed/MODEL or source/MODEL")
    return EndpointReranker(name, models.source(project, name), project.requests["aux"].timeout)
