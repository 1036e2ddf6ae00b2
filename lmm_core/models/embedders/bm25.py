"""BM25 as sparse vectors: the weighted words of a text. Qdrant adds how rare each word is.

The weights equal those of fastembed's `Qdrant/bm25`, and the vectors are made with the libraries
that fastembed uses, because importing fastembed itself would take longer than a search may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial

from ..languages.stemming import Stemmer, Stemmers
from ..languages.words import WordCache, find_words
from .embedder import Sparse

USUAL_LANGUAGE = "en"  # of texts that do not say theirs
# fastembed's defaults: how quickly repetitions of a word stop counting, how much the length
# of a text counts, the usual length in words, and the longest word in characters.
_K, _B, _USUAL_LENGTH, _LONGEST_WORD = 1.2, 0.75, 256.0, 40
_LEFT_OUT = -1  # the number of stop words and of words that are too long


class Bm25Encoder:
    """An encoder of texts as BM25 vectors.

    language: of the texts that come without one, by its code or name; the default is English."""

    name = "bm25"

    def __init__(self, language: str = "") -> None:
        import mmh3

        self._hash = mmh3.hash
        self._stemmers = Stemmers(language.strip() or USUAL_LANGUAGE)
        self._numbers: dict[str, WordCache[int]] = {}  # of the words of each language
        self.language = self._stemmers.of("").language

    def __reduce__(self) -> tuple[Callable[[str], Bm25Encoder], tuple[str]]:
        """Return what `pickle` writes: another process makes one encoder of a language, and keeps it."""
        return _of_language, (self.language,)

    def encode(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Sparse]:
        """Return one vector for each text to be stored; languages: the code of each one's, or ""."""
        return [self._encode(text, lang) for text, lang in zip(texts, languages or [""] * len(texts), strict=True)]

    def encode_query(self, text: str, languages: Sequence[str] = ()) -> Sparse:
        """Return the vector of a query; languages: those of the texts that it is compared with."""
        numbers = [self._numbers_of(language) for language in languages or ("",)]
        indices = list(dict.fromkeys(known[word] for word in find_words(text) for known in numbers))
        indices = [number for number in indices if number != _LEFT_OUT]
        return Sparse(indices, [1.0] * len(indices))

    def _encode(self, text: str, language: str) -> Sparse:
        counts = Counter(map(self._numbers_of(language).__getitem__, find_words(text)))
        counts.pop(_LEFT_OUT, None)
        length = _K * (1 - _B + _B * counts.total() / _USUAL_LENGTH)
        weight = {n: n * (_K + 1) / (n + length) for n in set(counts.values())}
        return Sparse(list(counts), list(map(weight.__getitem__, counts.values())))

    def _numbers_of(self, language: str) -> WordCache[int]:
        """Return the numbers of the words of a language: that of a word's stem, or `_LEFT_OUT`."""
        if language not in self._numbers:
            self._numbers[language] = WordCache(partial(self._number, self._stemmers.of(language)))
        return self._numbers[language]

    def _number(self, stemmer: Stemmer, word: str) -> int:
        stem = stemmer.find_stem(word) if len(word) <= _LONGEST_WORD else ""
        return abs(self._hash(stem)) if stem else _LEFT_OUT


@cache
def _of_language(language: str) -> Bm25Encoder:
    return Bm25Encoder(language)
