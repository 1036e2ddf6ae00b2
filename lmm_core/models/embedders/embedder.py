"""The embedder protocol: texts become vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector: where it is not 0, and its values there."""

    indices: list[int]
    values: list[float]


@runtime_checkable
class SparseEncoder(Protocol):
    """Anything that makes sparse vectors of texts. `name` and `language` belong to the
    collection that holds them."""

    name: str
    language: str

    def encode(self, texts: Sequence[str]) -> list[Sparse]:
        """One vector for each text that is stored."""
        ...

    def encode_query(self, text: str) -> Sparse:
        """The vector of a query."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Anything that embeds texts. `name` is `source/model`; `window` is how many tokens
    of a text it sees (what is beyond is cut off, or is an error)."""

    name: str
    window: int

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, all of one length. Raises ModelError."""
        ...

    async def close(self) -> None:
        """Let connections go; they are made again where they are needed."""
        ...


def batches(texts: Sequence[str], most_texts: int, most_characters: int) -> Iterator[list[str]]:
    """Texts in their order, in groups of at most so many texts and characters together
    (a text that is longer goes alone)."""
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
