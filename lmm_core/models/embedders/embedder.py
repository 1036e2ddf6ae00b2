"""Define the protocol of embedding models, and cache their vectors, so that interrupted runs resume."""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ...errors import ModelError
from ..cache import Cache, CacheUser

WORDS_ALONE = (
    "remove the model from [embeddings] and run `lmm index --rebuild`, for an index that only compares words (for a "
    "folder of markdown, remove its folder in .md_index and run `lmm md-index`)"
)


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: indices and values of non-zero components."""

    indices: list[int]
    values: list[float]


@runtime_checkable
class Embedder(Protocol):
    """The protocol of dense embedding models. name: `source/model`."""

    name: str

    @property
    def window(self) -> int:
        """The number of tokens that the model reads; longer texts are cut off or refused."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector per text, all of one length. Raise ModelError."""

    async def close(self) -> None:
        """Close all connections; the next use reopens them."""


class AbsentEmbedder:
    """Replaces an unavailable embedding model, so that search compares words.

    error: why; raised by `embed`"""

    window = 0

    def __init__(self, name: str, error: ModelError) -> None:
        self.name, self._error = name, error

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise self._error

    async def close(self) -> None:
        """See `Embedder`."""


def batches(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """Yield the texts in batches limited by number and total characters; too long a text is a batch alone."""
    group: list[str] = []
    size = 0
    for text in texts:
        if group and (len(group) == most_texts or size + len(text) > most_characters):
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group


# Cache

# Limits of a group that is embedded and cached together; an interrupted run repeats unfinished groups
MOST_TEXTS = 64
MOST_CHARACTERS = 200_000
AT_ONCE = 8  # groups; local models take one at a time


class CachedEmbedder(CacheUser):
    """An embedder with a cache. All vectors are rounded to 32 bits, as they are cached.

    warn: called once if the cache cannot be used
    at_once: concurrent groups"""

    def __init__(
        self,
        embedder: Embedder,
        cache: Cache | None,
        warn: Callable[[str], None] = lambda message: None,
        at_once: int = AT_ONCE,
    ) -> None:
        self.embedder, self.cache, self.warn = embedder, cache, warn
        self.name = embedder.name
        # Models of one name on other servers or in other files have other spaces
        self._space = str(getattr(embedder, "space", embedder.name))
        self._at_once = at_once

    @property
    def window(self) -> int:
        return self.embedder.window

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        keys = [self._key(text) for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        vectors = self.use_cache(lambda cache: cache.find_vectors(list(by_key)), dict[bytes, list[float]]())
        await self._fill(vectors, {key: text for key, text in by_key.items() if key not in vectors})
        if len({len(vector) for vector in vectors.values()}) > 1:  # another model under the same name
            vectors = {}
            await self._fill(vectors, by_key)
        return [vectors[key] for key in keys]

    async def close(self) -> None:
        await self.embedder.close()
        if self.cache:
            self.cache.close()

    async def _fill(self, vectors: dict[bytes, list[float]], by_key: Mapping[bytes, str]) -> None:
        """Embed the missing texts. After an error, running groups finish and no other starts."""
        slots = asyncio.Semaphore(self._at_once)
        failed: list[ModelError] = []

        async def work(keys: list[bytes], group: list[str]) -> None:
            async with slots:
                if failed:
                    return
                try:
                    embedded = dict(zip(keys, self._rounded(await self.embedder.embed(group)), strict=True))
                except ModelError as error:
                    failed.append(error)
                    return
            self.use_cache(lambda cache: cache.keep_vectors(embedded), None)
            vectors.update(embedded)

        remaining = iter(by_key)
        groups = batches(list(by_key.values()), MOST_TEXTS, MOST_CHARACTERS)
        await asyncio.gather(*(work([next(remaining) for _ in group], group) for group in groups))
        if failed:
            raise failed[0]

    def _rounded(self, vectors: list[list[float]]) -> list[list[float]]:
        try:
            return [array("f", vector).tolist() for vector in vectors]
        except TypeError:
            raise ModelError(f"{self.name}: the model returned a vector that does not consist of numbers") from None

    def _key(self, text: str) -> bytes:
        data = f"{self._space}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=20).digest()
