"""Create, fill and query collections, under the names of LM markdown for education.

They work like the functions of `lmm_core.indexing.collection`, but take

- a client instead of a store: one of ours (`client_from_config`, `open_store`), or a `QdrantClient` of `qdrant-client`;
- a model instead of an encoder: the collection's vectors (`QdrantEmbeddingModel`), an `EncodingModel`, or the name of
  either (`"dense"`, `"bm25"`), which use the models in the working folder's configuration; or a `ConfigSettings`, or an
  `Encoder`.

The names of asynchronous forms begin with `a`. If a store, a model or the system fails, the failure is reported to the
logger, by default on the console, and an empty list or False is returned; a logger may raise it instead. Wrong settings
raise ConfigError, and wrong arguments pydantic's ValidationError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps

from .arguments import Arguments, Result, validated
from .errors import ModelError, StoreError
from .indexing import collection
from .indexing.api import Client, Model, aencoder_from, client_from_config, global_client_from_config
from .indexing.chunks import Chunk
from .indexing.collection import points_to_blocks
from .indexing.encoding import QdrantEmbeddingModel, encoding_to_qdrantembedding_model
from .logging import ConsoleLogger, LoggerBase, report_failure
from .models.chat import synchronous
from .store.places import as_store
from .store.vector_store import Point, ScoredPoint, Where

__all__ = [
    "QdrantEmbeddingModel", "ScoredPoint", "ainitialize_collection", "aquery", "aquery_grouped", "aupload",
    "client_from_config", "encoding_to_qdrantembedding_model", "global_client_from_config",
    "initialize_collection", "points_to_blocks", "query", "query_grouped", "upload",
]  # fmt: skip


@validated
@synchronous
async def initialize_collection(
    client: Client, collection_name: str, model: Model, logger: LoggerBase | None = None
) -> bool:
    """Create a collection if it is missing. Return True if it can be used.

    Return False, and report it, if it was made with other settings, or if the store or the model fails."""
    with _reported(logger) as reports:
        encoder = await aencoder_from(client, collection_name, model, reports)
        await collection.ainitialize_collection(as_store(client), collection_name, encoder)
        return True
    return False


@validated
@synchronous
async def upload(
    client: Client, collection_name: str, model: Model, chunks: Sequence[Chunk], logger: LoggerBase | None = None
) -> list[Point]:
    """Embed chunks, and write them to a collection, which is created if it is missing.

    Chunks with the same ids are replaced. Return the points, or none, and report it, if the store or the model
    fails."""
    with _reported(logger) as reports:
        encoder = await aencoder_from(client, collection_name, model, reports)
        return await collection.aupload(as_store(client), collection_name, encoder, chunks)
    return []


@validated
@synchronous
async def query(
    client: Client,
    collection_name: str,
    model: Model,
    querytext: str,
    limit: int = 6,
    payload: bool | list[str] = True,
    where: Where | None = None,
    logger: LoggerBase | None = None,
) -> list[ScoredPoint]:
    """Return the chunks that match a text best, the best first.

    payload: fields to return with each chunk: True for all, False for none, or their names
    where: return only chunks with these values of fields
    Return an empty list, and report it, if the store or the model fails."""
    with _reported(logger) as reports:
        encoder = await aencoder_from(client, collection_name, model, reports)
        points = await collection.aquery(as_store(client), collection_name, encoder, querytext, limit, where)
        return _with_fields(points, payload)
    return []


@validated
@synchronous
async def query_grouped(
    client: Client,
    collection_name: str,
    companion_name: str,
    model: Model,
    querytext: str,
    limit: int = 4,
    payload: bool | list[str] = True,
    where: Where | None = None,
    logger: LoggerBase | None = None,
) -> list[ScoredPoint]:
    """Return the texts around the chunks that match best, each once, with the score of its best chunk.

    companion_name: collection of these texts; for the other arguments see `query`."""
    with _reported(logger) as reports:
        encoder, store = await aencoder_from(client, collection_name, model, reports), as_store(client)
        most = collection.chunks_for(limit)
        chunks = await collection.aquery(store, collection_name, encoder, querytext, most, where)
        return _with_fields(await collection.afind_documents(store, companion_name, chunks, limit), payload)
    return []


@contextmanager
def _reported(logger: LoggerBase | None) -> Iterator[LoggerBase]:
    """Report the failure of a store, a model or the system, and continue after the block."""
    reports = logger or ConsoleLogger()
    try:
        yield reports
    except (StoreError, ModelError, OSError) as error:
        report_failure(error, reports)


def _with_fields(points: list[ScoredPoint], payload: bool | list[str]) -> list[ScoredPoint]:
    if payload is True:
        return points
    names = frozenset(payload or ())
    return [
        replace(point, payload={key: point.payload[key] for key in point.payload if key in names}) for point in points
    ]


def _asynchronous(function: Callable[Arguments, Result]) -> Callable[Arguments, Awaitable[Result]]:
    @wraps(function)
    async def form(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(function, *args, **kwargs)

    return form


ainitialize_collection = _asynchronous(initialize_collection)
aupload = _asynchronous(upload)
aquery = _asynchronous(query)
aquery_grouped = _asynchronous(query_grouped)
