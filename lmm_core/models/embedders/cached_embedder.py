"""Cache embeddings, so that interrupted runs resume."""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import Callable, Mapping, Sequence

from ...errors import ModelError
from ..cache import Cache, CacheUser
from .embedder import Embedder, batches

# Texts per group; an interrupted run repeats unfinished groups
MOST_TEXTS = 64
MOST_CHARACTERS = 200_000
AT_ONCE = 8  # groups; local models take one at a time


class CachedEmbedder(CacheUser):
    """An embedder with a cache. All vectors are 32-bit.

    warn: called once if the cache is unusable
    at_once: parallel groups
    hits, embedded: texts so far"""

    def __init__(
        self,
        embedder: Embedder,
        cache: Cache | None,
        warn: Callable[[str], None] = lambda message: None,
        at_once: int = AT_ONCE,
    ) -> None:
        self.embedder, self.cache, self.warn = embedder, cache, warn
        self.name = embedder.name
        self.hits = self.embedded = 0
        # Server or files: never mix vectors of another model under the same name
        self._space = str(getattr(embedder, "space", embedder.name))
        self._at_once = at_once

    @property
    def window(self) -> int:
        return self.embedder.window

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        keys = [self._key(text) for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        none: dict[bytes, list[float]] = {}
        vectors = self.use_cache(lambda cache: cache.find_vectors(list(by_key)), none)
        embedded = len(by_key) - len(vectors)
        await self._fill(vectors, {key: text for key, text in by_key.items() if key not in vectors})
        if len({len(vector) for vector in vectors.values()}) > 1:  # another model under the same name
            vectors, embedded = {}, embedded + len(by_key)
            await self._fill(vectors, by_key)
        self.embedded += embedded
        self.hits += max(0, len(texts) - embedded)
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
