"""The terms of an index: in how many snippets each word stands, and what it weighs there."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, sub

from ..index.encoding import DENSE, SPARSE
from ..models.embedders.embedder import Sparse
from ..store.vector_store import Vector


@dataclass(frozen=True, slots=True)
class Terms:
    """Statistics of the words and vectors of an index's snippets.

    count: the number of snippets; numbers: those of the words (as BM25 numbers them), sorted;
    frequencies: in how many snippets each word stands; weights: the sum of its BM25 weights;
    dense: the sum of the dense vectors; languages: the number of snippets in each, by their codes."""

    count: int = 0
    numbers: Sequence[int] = ()
    frequencies: Sequence[int] = ()
    weights: Sequence[float] = ()
    dense: Sequence[float] = ()
    languages: Mapping[str, int] = field(default_factory=dict)

    def frequency(self, word: int) -> int:
        """Return the number of snippets that hold a word."""
        at = self._place(word)
        return 0 if at is None else self.frequencies[at]

    def mean(self, word: int) -> float:
        """Return the mean weight of a word over all snippets."""
        at = self._place(word)
        return 0.0 if at is None else self.weights[at] / self.count

    def _place(self, word: int) -> int | None:
        at = bisect_left(self.numbers, word)
        return at if at < len(self.numbers) and self.numbers[at] == word else None

    @property
    def centroid(self) -> list[float]:
        """The mean of the dense vectors."""
        return [value / self.count for value in self.dense] if self.count else []


class Tally:
    """Terms that are kept up to date while snippets come and go."""

    def __init__(self, terms: Terms | None = None) -> None:
        terms = terms or Terms()
        self.count = terms.count
        self._words = {
            word: (frequency, weight)
            for word, frequency, weight in zip(terms.numbers, terms.frequencies, terms.weights, strict=True)
        }
        self._dense = list(terms.dense)
        self._languages = Counter(terms.languages)

    def add(self, vectors: Mapping[str, Vector], language: str = "") -> None:
        """Count a snippet that has these vectors. language: the code of its language."""
        self._change(vectors, language, 1)

    def remove(self, vectors: Mapping[str, Vector], language: str = "") -> None:
        """Stop counting a snippet that has these vectors."""
        self._change(vectors, language, -1)

    def _change(self, vectors: Mapping[str, Vector], language: str, sign: int) -> None:
        self.count += sign
        self._languages[language] += sign
        sparse, dense, words = vectors.get(SPARSE), vectors.get(DENSE), self._words
        if isinstance(sparse, Sparse):
            for word, weight in zip(sparse.indices, sparse.values, strict=True):
                frequency, total = words.get(word, (0, 0.0))
                if frequency + sign > 0:
                    words[word] = (frequency + sign, total + sign * weight)
                else:
                    words.pop(word, None)
        if isinstance(dense, list):
            before: list[float] = self._dense or [0.0] * len(dense)
            self._dense = list(map(add if sign > 0 else sub, before, dense))

    def terms(self) -> Terms:
        """Return the present terms."""
        numbers = sorted(self._words)
        return Terms(
            self.count,
            array("L", numbers),
            array("L", (self._words[word][0] for word in numbers)),
            array("d", (self._words[word][1] for word in numbers)),
            array("d", self._dense if self.count else ()),
            {code: count for code, count in sorted(self._languages.items()) if count > 0},
        )


def inverse_document_frequency(searched: Iterable[Terms], word: int) -> float:
    """Return the inverse document frequency of a word over the snippets of some indexes.

    It is computed as Qdrant does it for one index: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    count = found = 0
    for terms in searched:
        count += terms.count
        found += terms.frequency(word)
    return math.log(1 + (count - found + 0.5) / (found + 0.5))
