"""Define the protocol of embedding models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ...errors import ModelError

WORDS_ALONE = (
    "name no model under [embeddings], and run `lmm index --rebuild` for an index that compares words (of a folder of "
    "markdown: remove its folder in .md_index, and run `lmm md-index`)"
)


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: indices and values of non-zero components."""

    indices: list[int]
    values: list[float]

    def __reduce__(self) -> tuple[type[Sparse], tuple[list[int], list[float]]]:
        """Pickle faster than a dataclass with slots."""
        return Sparse, (self.indices, self.values)


@runtime_checkable
class Embedder(Protocol):
    """The protocol of dense embedding models. name: `source/model`."""

    name: str

    @property
    def window(self) -> int:
        """The tokens of a text that are read; more are cut off or refused."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector per text, all of one length. Raise ModelError."""
        ...

    async def close(self) -> None:
        """Close all connections; the next use reopens them."""
        ...


class AbsentEmbedder:
    """A placeholder for an unavailable embedding model: search is lexical.

    name: of that model
    error: why it is unavailable"""

    window = 0

    def __init__(self, name: str, error: ModelError) -> None:
        self.name, self._error = name, error

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise self._error

    async def close(self) -> None:
        """See `Embedder`."""


def batches(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """Yield the texts in batches limited by number and total characters; an overlong text is a batch of its own."""
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
