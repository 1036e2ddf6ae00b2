"""Open a project's index for questions, and make the conversation that answers them, as configured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import IndexChangedError, LmmError, ModelError, QuartoError, RetrieveError, StoreError
from ..models.names import parse_name
from ..models.own_prompts.known import own_prompt
from ..models.sources import FASTEMBED, STAND_IN, known_sources
from ..retrieve.agents.library_tools import Function, Result
from ..retrieve.library import Lender, Library
from ..retrieve.queries import Expander, ModelQueries, PlainQueries
from ..retrieve.rerank import CrossEncoderReranker, EndpointReranker, ModelReranker, NoReranker, Reranker
from ..retrieve.retriever import Retriever
from ..scan.exchange.requests import REPLY_TOKENS
from ..settings.models import Models
from ..settings.project import Project
from ..settings.quarto_inputs import find_inputs
from ..store.folder_lock import Lending
from ..store.threads import run_in_thread
from ..store.vector_store import VectorStore
from .encode import encoder_for
from .indexing.stores import index_info, project_store

if TYPE_CHECKING:
    from ..retrieve.agents.tools import Tools
    from ..retrieve.answer import Conversation

NOTHING = "nothing is indexed yet: lmm index FILES"
IDLE = 1.0  # seconds without use after which a shared library releases the index
CLOSING = 3.0  # seconds that closing may take
NOT_CHECKED = (
    '[ask] off_topic = "refuse" has no effect without a model, since no model tells what a question is about; '
    "what is answered is quoted from the notes"
)
PATIENCE = 30.0  # seconds for each model that helps to search; after that, the search goes on without it


async def open_library(
    project: Project, models: Models, store: VectorStore | None = None, patience: float | None = None
) -> Library:
    """Return the project's collection, to be read and searched. The caller closes its `store`.

    patience: see `Encoder`. Raise StoreError, ModelError, and RetrieveError if nothing is
    indexed."""
    database = project.database
    opened: VectorStore = store if store is not None else await run_in_thread(project_store, project)
    try:
        if await run_in_thread(opened.metadata, database.collection_name) is None:
            raise RetrieveError(NOTHING)
        encoding = project.embeddings.encoding
        encoder = await encoder_for(opened, project, models, database.collection_name, encoding, reads=True)
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
        store: VectorStore = await run_in_thread(project_store, self.project) if opened is None else opened
        known = await run_in_thread(_metadata, store, self.project.database.collection_name)
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


def status_tool(library: SharedLibrary) -> Function:
    """Return the tool that says what is indexed."""

    async def status() -> Result:
        """Say what is indexed: how many documents, since when, where, and with which models."""
        async with library.use() as lent:
            found = await run_in_thread(index_info, library.project, lent.store)
            kinds = dict(sorted((await lent.material()).kinds.items()))
        told = {
            key: value for key, value in asdict(found).items() if key not in ("others", "written") and value is not None
        }
        if found.written:
            told["written"] = datetime.fromtimestamp(found.written, UTC).isoformat(timespec="seconds")
            told["age_hours"] = round((time.time() - found.written) / 3600, 1)
        model = str(library.models.name(library.project, "major"))
        return {**told, "kinds": kinds, "model": model, "summary": found.summary()}

    return status


def _metadata(store: VectorStore, collection: str) -> dict[str, Any] | None:
    """Return `VectorStore.metadata`, and close the store if that fails."""
    try:
        return store.metadata(collection)
    except StoreError:
        store.close()
        raise


def make_conversation(
    project: Project, models: Models, library: Lender, with_model: bool = True, tools: Tools | None = None,
    patience: float = PATIENCE,
) -> Conversation:  # fmt: skip
    """Return a conversation about a library, as configured under `[ask]`.

    with_model: False to ask no model; then, and if none is configured, the best passages are
    the answer; tools: those that the model may use; patience: see `Retriever`. Raise ModelError
    and ConfigError."""
    from ..retrieve.answer import Conversation

    ask = project.ask
    chats = with_model and models.name(project, "major").source != STAND_IN
    asker = models.asker(project, "major") if chats else None
    return Conversation(
        Retriever(
            library,
            _expander(project, models, chats),
            _reranker(project, models, chats),
            models.warn,
            patience,
            checks=chats and bool(ask.refused_beside),
        ),
        asker,
        tools if asker else None,
        ask.context,
        ask.level,
        ask.budget,
        ask.tool_calls,
        max(project.requests["major"].context_tokens - REPLY_TOKENS, 0),
        prompt=own_prompt("answer", project.prompts),
    )


def _expander(project: Project, models: Models, chats: bool) -> Expander:
    """Return what makes queries. If questions about other subjects are refused, that is a model, which tells them."""
    ask = project.ask
    prompt, has_aux = own_prompt("queries", project.prompts), models.name(project, "aux").source != STAND_IN
    if chats and ask.refused_beside:
        return ModelQueries(models.asker(project, "aux" if has_aux else "major"), ask.refused_beside, prompt)
    if ask.queries == "keywords" or not (chats and has_aux):
        return PlainQueries()
    return ModelQueries(models.asker(project, "aux"), prompt=prompt)


def not_checked(project: Project, models: Models, with_model: bool = True) -> str:
    """Return a sentence if questions about other subjects should be refused, and no model can tell them; else ""."""
    chats = with_model and models.name(project, "major").source != STAND_IN
    return NOT_CHECKED if project.ask.refused_beside and not chats else ""


def _reranker(project: Project, models: Models, chats: bool) -> Reranker:
    """Return the reranker that `ask.rerank` names. Raise ModelError."""
    wanted = project.ask.rerank.strip()
    if wanted in ("", "none"):
        return NoReranker()
    if wanted == "model":
        prompt = own_prompt("rerank", project.prompts)
        return ModelReranker(models.asker(project, "aux"), prompt) if chats else NoReranker()
    sources = known_sources(project.sources)
    name = parse_name(wanted, sources)
    if name.source == FASTEMBED:
        from ..models.embedders.cross_encoder import CrossEncoder

        return CrossEncoderReranker(CrossEncoder(name, project.root))
    if name.source not in sources:
        raise ModelError(f"ask.rerank: {wanted!r} cannot rerank; say none, model, fastembed/MODEL or source/MODEL")
    return EndpointReranker(name, models.source(project, name), project.requests["aux"].timeout)
