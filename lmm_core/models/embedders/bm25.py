"""Encode texts as sparse BM25 vectors; Qdrant adds the inverse document frequency.

The weights equal fastembed's `Qdrant/bm25`, whose import takes longer than a search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from ..languages.stemming import Stemmer, Stemmers
from ..languages.words import WordCache, find_words
from .embedder import Sparse

USUAL_LANGUAGE = "en"  # default
# fastembed's defaults: saturation, weight of the length, average length in words, longest word in characters
_K, _B, _USUAL_LENGTH, _LONGEST_WORD = 1.2, 0.75, 256.0, 40
_LEFT_OUT = -1  # number of stop words and overlong words


class Bm25Encoder:
    """A BM25 encoder. language: default code or name."""

    name = "bm25"

    def __init__(self, language: str = "") -> None:
        import mmh3

        self._hash = mmh3.hash
        self._stemmers = Stemmers(language.strip() or USUAL_LANGUAGE)
        self._numbers: dict[str, WordCache[int]] = {}  # by language
        self.language = self._stemmers.of("").language

    def encode(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Sparse]:
        """Return a vector for each stored text. languages: codes, "" if unknown."""
        return [self._encode(text, lang) for text, lang in zip(texts, languages or [""] * len(texts), strict=True)]

    def encode_query(self, text: str, languages: Sequence[str] = ()) -> Sparse:
        """Return a query's vector. languages: of the texts searched."""
        numbers = [self._numbers_of(language) for language in languages or ("",)]
        indices = list(dict.fromkeys(number_of[word] for word in find_words(text) for number_of in numbers))
        indices = [number for number in indices if number != _LEFT_OUT]
        return Sparse(indices, [1.0] * len(indices))

    def _encode(self, text: str, language: str) -> Sparse:
        counts = Counter(map(self._numbers_of(language).__getitem__, find_words(text)))
        counts.pop(_LEFT_OUT, None)
        length = _K * (1 - _B + _B * counts.total() / _USUAL_LENGTH)
        weight = {n: n * (_K + 1) / (n + length) for n in set(counts.values())}
        return Sparse(list(counts), list(map(weight.__getitem__, counts.values())))

    def _numbers_of(self, language: str) -> WordCache[int]:
        if language not in self._numbers:
            self._numbers[language] = WordCache(partial(self._number, self._stemmers.of(language)))
        return self._numbers[language]

    def _number(self, stemmer: Stemmer, word: str) -> int:
        stem = stemmer.find_stem(word) if len(word) <= _LONGEST_WORD else ""
        return abs(self._hash(stem)) if stem else _LEFT_OUT
