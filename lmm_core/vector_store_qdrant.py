"""Make, fill and query collections, under the names that LM markdown for education gives these functions.

They are the functions of `lmm_core.index.collection`, but where those take an encoder, these also
take a configuration, or the kind of vectors that a collection has (`QdrantEmbeddingModel`, with
the models of the working folder's configuration). Each function has an asynchronous form whose
name begins with `a`. All raise StoreError, ModelError and ConfigError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from .index import collection
from .index.chunks import Chunk
from .index.collection import points_to_blocks
from .index.encoding import (
    Encoder,
    EncodingModel,
    QdrantEmbeddingModel,
    encoding_to_qdrantembedding_model,
    has_dense,
)
from .logging import ConsoleLogger
from .models.chat import run
from .models.embedders.bm25 import Bm25Encoder
from .settings.project import Project
from .store.vector_store import Point, ScoredPoint, VectorStore, Where
from .workflows.encode import cached_embedder, encoder_for, project_from
from .workflows.indexing.stores import client_from_config, global_client_from_config
from .workflows.models import Models

if TYPE_CHECKING:
    from .settings.config import ConfigSettings

    Model: TypeAlias = Encoder | QdrantEmbeddingModel | ConfigSettings | Project

__all__ = [
    "QdrantEmbeddingModel", "ainitialize_collection", "aquery", "aquery_grouped", "aupload", "client_from_config",
    "encoder_from", "encoding_to_qdrantembedding_model", "global_client_from_config", "initialize_collection",
    "points_to_blocks", "query", "query_grouped", "upload",
]  # fmt: skip


async def aencoder_from(client: VectorStore, collection_name: str, model: Model) -> Encoder:
    """Return the encoder for a collection."""
    if isinstance(model, Encoder):
        return model
    models = Models(warn=ConsoleLogger().warning)
    if not isinstance(model, QdrantEmbeddingModel):
        project = project_from(model)
        return await encoder_for(client, project, models, collection_name, project.index.encoding)
    project, known = project_from(None), client.metadata(collection_name) or {}
    stored = EncodingModel(known["encoding"]) if known.get("encoding") else None
    embedder = cached_embedder(models.embedder(project), project, models) if has_dense(model) else None
    same = stored is not None and encoding_to_qdrantembedding_model(stored) is model
    return Encoder(model, embedder, Bm25Encoder(project.index.language), stored if same else None)


def encoder_from(client: VectorStore, collection_name: str, model: Model) -> Encoder:
    """Return the encoder for a collection; see `aencoder_from`."""
    return run(aencoder_from(client, collection_name, model))


async def ainitialize_collection(client: VectorStore, collection_name: str, model: Model) -> bool:
    """Make a collection. Return True if it is new. Raise StoreError if it exists and was made otherwise."""
    encoder = await aencoder_from(client, collection_name, model)
    return await collection.ainitialize_collection(client, collection_name, encoder)


def initialize_collection(client: VectorStore, collection_name: str, model: Model) -> bool:
    """Make a collection and return True if it is new; see `ainitialize_collection`."""
    return run(ainitialize_collection(client, collection_name, model))


async def aupload(client: VectorStore, collection_name: str, model: Model, chunks: Sequence[Chunk]) -> list[Point]:
    """Embed chunks and write them in place of those with the same ids. Return the points."""
    encoder = await aencoder_from(client, collection_name, model)
    return await collection.aupload(client, collection_name, encoder, chunks)


def upload(client: VectorStore, collection_name: str, model: Model, chunks: Sequence[Chunk]) -> list[Point]:
    """Embed chunks, write them and return the points; see `aupload`."""
    return run(aupload(client, collection_name, model, chunks))


async def aquery(
    client: VectorStore,
    collection_name: str,
    model: Model,
    querytext: str,
    limit: int = 6,
    where: Where | None = None,
) -> list[ScoredPoint]:
    """Return the chunks that match a text best, best first, with their whole payload."""
    encoder = await aencoder_from(client, collection_name, model)
    return await collection.aquery(client, collection_name, encoder, querytext, limit, where)


def query(
    client: VectorStore,
    collection_name: str,
    model: Model,
    querytext: str,
    limit: int = 6,
    where: Where | None = None,
) -> list[ScoredPoint]:
    """Return the chunks that match a text best, best first; see `aquery`."""
    return run(aquery(client, collection_name, model, querytext, limit, where))


async def aquery_grouped(
    client: VectorStore,
    collection_name: str,
    companion_name: str,
    model: Model,
    querytext: str,
    limit: int = 4,
    where: Where | None = None,
) -> list[ScoredPoint]:
    """Return the texts of a companion collection that the best chunks are parts of."""
    encoder = await aencoder_from(client, collection_name, model)
    return await collection.aquery_grouped(client, collection_name, companion_name, encoder, querytext, limit, where)


def query_grouped(
    client: VectorStore,
    collection_name: str,
    companion_name: str,
    model: Model,
    querytext: str,
    limit: int = 4,
    where: Where | None = None,
) -> list[ScoredPoint]:
    """Return the texts that the best chunks are parts of; see `aquery_grouped`."""
    return run(aquery_grouped(client, collection_name, companion_name, model, querytext, limit, where))
