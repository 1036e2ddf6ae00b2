"""LangChain retrievers for the index, with the extra `langchain`.

    QdrantVectorStoreRetriever.from_config_settings().invoke("Where is the variance explained?")

A retriever finds chunks, a grouped one the texts around them in the companion collection. Clients and models are those
of `lmm_core.vector_store_qdrant`. Raises StoreError, ModelError and ConfigError.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    from .installation import PACKAGE

    raise ImportError(
        f"lmm_core.langchain needs the package langchain-core: pip install '{PACKAGE}[langchain]'"
    ) from error
from typing import Self

from pydantic import ConfigDict, PrivateAttr

from .indexing.api import Client, Config, Model, aencoder_from, client_from_config
from .indexing.chunks import CONTEXT_SUMMARY
from .indexing.collection import afind_documents, aquery, chunks_for, shared_store
from .indexing.encoding import Encoder
from .logging import ConsoleLogger
from .models.chat import run
from .settings.project import project_from
from .store.places import as_store
from .store.vector_store import ScoredPoint

__all__ = [
    "AsyncQdrantVectorStoreRetriever", "AsyncQdrantVectorStoreRetrieverGrouped", "QdrantVectorStoreRetriever",
    "QdrantVectorStoreRetrieverGrouped", "client_from_config",
]  # fmt: skip


class _StoreRetriever(BaseRetriever):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Client
    collection_name: str
    embedding_model: Model
    _encoder: Encoder | None = PrivateAttr(default=None)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return run(self._find(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._find(query)

    async def _find(self, query: str) -> list[Document]:
        encoder = self._encoder or await aencoder_from(
            self.client, self.collection_name, self.embedding_model, ConsoleLogger()
        )
        points = await self._search(query, encoder)
        self._encoder = encoder  # cached once the collection exists
        return [_document(point) for point in points]

    @abstractmethod
    async def _search(self, query: str, encoder: Encoder) -> Sequence[ScoredPoint]: ...


class QdrantVectorStoreRetriever(_StoreRetriever):
    """A retriever of chunks.

    Documents have the text as `page_content`, and payload and score as `metadata`. The collection must have the same
    `embedding_model`."""

    limit: int = 6

    def __init__(
        self, client: Client, collection_name: str, embedding_model: Model, limit: int = 6, **kwargs: Any
    ) -> None:
        fields: dict[str, Any] = {"client": client, "embedding_model": embedding_model, "limit": limit}
        super().__init__(collection_name=collection_name, **fields, **kwargs)

    @classmethod
    def from_config_settings(cls, config: Config = None, limit: int = 6) -> Self:
        """Return the retriever for the configured index. Raise StoreError and ConfigError."""
        project = project_from(config)
        return cls(shared_store(project), project.database.collection_name, project, limit)

    async def _search(self, query: str, encoder: Encoder) -> Sequence[ScoredPoint]:
        return await aquery(as_store(self.client), self.collection_name, encoder, query, self.limit)


class QdrantVectorStoreRetrieverGrouped(_StoreRetriever):
    """A retriever of the companion texts around the best chunks.

    `group_collection` is the companion collection, `max_companion_docs` the maximum of texts. A text begins with its
    section's summary, if any, which is also `context_summary` in `metadata`."""

    group_collection: str
    max_companion_docs: int = 4

    def __init__(
        self, client: Client, collection_name: str, group_collection: str, embedding_model: Model,
        max_companion_docs: int = 4, **kwargs: Any,
    ) -> None:  # fmt: skip
        fields: dict[str, Any] = {"client": client, "embedding_model": embedding_model}
        fields |= {"group_collection": group_collection, "max_companion_docs": max_companion_docs}
        super().__init__(collection_name=collection_name, **fields, **kwargs)

    @classmethod
    def from_config_settings(cls, config: Config = None, max_companion_docs: int = 4) -> Self:
        """Return the retriever for the configured index. Raise StoreError and ConfigError."""
        project = project_from(config)
        database = project.database
        return cls(
            shared_store(project), database.collection_name, database.companion_collection, project, max_companion_docs
        )

    async def _search(self, query: str, encoder: Encoder) -> Sequence[ScoredPoint]:
        store, most = as_store(self.client), self.max_companion_docs
        chunks = await aquery(store, self.collection_name, encoder, query, chunks_for(most))
        return await afind_documents(store, self.group_collection, chunks, most)


# Under their names for asynchronous code (`await retriever.ainvoke(…)`)
AsyncQdrantVectorStoreRetriever = QdrantVectorStoreRetriever
AsyncQdrantVectorStoreRetrieverGrouped = QdrantVectorStoreRetrieverGrouped


def _document(point: ScoredPoint) -> Document:
    """Return a point as a document, with its section's summary first."""
    metadata = {key: value for key, value in point.payload.items() if key != "page_content"}
    parts = (metadata.get(CONTEXT_SUMMARY), point.payload.get("page_content"))
    return Document(
        page_content="\n\n".join(str(part) for part in parts if part),
        metadata={**metadata, "score": point.score},
        id=point.id,
    )
