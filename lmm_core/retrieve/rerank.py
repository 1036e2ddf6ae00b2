"""Reranking: which of the passages found answer the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .passages import Passage


class Reranker(Protocol):
    """Puts passages into a better order."""

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """The passages, all of them, the best first, with new scores. Raises ModelError."""
        ...


class NoReranker:
    """Leaves the order as it is."""

    async def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """See `Reranker`."""
        return list(passages)
