"""A cache of results by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
MOST = 500_000  # words; about 80 MB


class KnownWords(dict[str, Found]):
    """Cache of a function's results by word; `map(cache.__getitem__, words)` is the quickest way to look up many."""

    def __init__(self, find: Callable[[str], Found]) -> None:
        self._find = find

    def __missing__(self, word: str) -> Found:
        if len(self) > MOST:
            self.clear()
        found = self[word] = self._find(word)
        return found
