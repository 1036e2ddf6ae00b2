"""Embed texts over the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..names import ModelName
from ..openai.client import explain, open_client, require_key
from ..sources import ModelOptions, ModelSource
from .embedder import WORDS_ALONE

if TYPE_CHECKING:
    from openai import AsyncOpenAI

WINDOW = 8191


class OpenAIEmbedder:
    """A remote embedding model, one request for all texts; `CachedEmbedder` makes batches.

    OpenAI takes up to 2,048 texts and 300,000 tokens. Raise ModelError if a required key is not set."""

    window = WINDOW

    def __init__(self, name: ModelName, source: ModelSource, limits: ModelOptions | None = None) -> None:
        self.name = str(name)
        self.space = f"{name}@{source.base_url}"  # the same name may be another model elsewhere
        self._answered = False
        self._model, self._source, self._limits = name.model, source, limits or ModelOptions()
        self._key = require_key(name, source, WORDS_ALONE)
        self._client: AsyncOpenAI | None = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        import openai

        self._client = self._client or open_client(self._source, self._key, self._limits)
        try:
            reply = await self._client.embeddings.create(model=self._model, input=list(texts), encoding_format="float")
        except openai.APIError as error:
            raise explain(error, self.name, self._source, self._key, self._limits.timeout, self._answered) from None
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"{self.name}: the reply does not follow the OpenAI protocol ({type(error).__name__})"
            ) from None
        return self._read(reply, texts)

    def _read(self, reply: Any, texts: Sequence[str]) -> list[list[float]]:
        data = getattr(reply, "data", None)
        items = data if isinstance(data, list) else []
        if all(isinstance(getattr(item, "index", None), int) for item in items):
            items = sorted(items, key=lambda item: item.index)
        embeddings = [getattr(item, "embedding", None) for item in items]
        vectors = [vector for vector in embeddings if isinstance(vector, list) and vector]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1:
            counts = f"{len(vectors)} vectors for {len(texts)} texts"
            raise ModelError(f"{self.name}: the server returned {counts}, or vectors of different lengths")
        self._answered = True
        return vectors

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None
