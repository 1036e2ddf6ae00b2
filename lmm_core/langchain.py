"""Retrievers for LangChain that search in the index; they need the extra `langchain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from .index.collection import aquery
from .index.encoding import Encoder
from .models.chat import run
from .store.vector_store import ScoredPoint, VectorStore
from .workflows.encode import encoder_for, project_from
from .workflows.indexing.stores import client_from_config, global_client_from_config
from .workflows.models import Models

if TYPE_CHECKING:
    from .settings.config import ConfigSettings
    from .settings.project import Project

__all__ = ["AsyncQdrantVectorStoreRetriever", "QdrantVectorStoreRetriever", "client_from_config"]


class QdrantVectorStoreRetriever(BaseRetriever):
    """A retriever that finds chunks of a collection.

    In the documents, `page_content` is the text, and `metadata` the payload and the score.
    `encoder` has to be the one that the collection was made with."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: VectorStore
    collection_name: str
    encoder: Encoder
    limit: int = 6

    @classmethod
    def from_config_settings(
        cls, config: ConfigSettings | Project | None = None, limit: int = 6
    ) -> QdrantVectorStoreRetriever:
        """Return the retriever for the configured index. Raise StoreError, ModelError and ConfigError."""
        project = project_from(config)
        client = global_client_from_config(project)
        index = project.index
        encoder = run(encoder_for(client, project, Models(), index.collection, index.encoding))
        return cls(client=client, collection_name=index.collection, encoder=encoder, limit=limit)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return run(self._find(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._find(query)

    async def _find(self, query: str) -> list[Document]:
        points = await aquery(self.client, self.collection_name, self.encoder, query, self.limit)
        return [_document(point) for point in points]


class AsyncQdrantVectorStoreRetriever(QdrantVectorStoreRetriever):
    """The same retriever, under the name that asynchronous code looks for (`await retriever.ainvoke(…)`)."""


def _document(point: ScoredPoint) -> Document:
    metadata: dict[str, Any] = {key: value for key, value in point.payload.items() if key != "page_content"}
    return Document(
        page_content=str(point.payload.get("page_content", "")),
        metadata={**metadata, "score": point.score},
        id=point.id,
    )
