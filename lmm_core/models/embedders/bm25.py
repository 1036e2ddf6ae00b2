"""BM25 as sparse vectors: the weighted words of a text. Qdrant adds how rare each word is.

The weights equal those of fastembed's `Qdrant/bm25`, and the vectors are made with the libraries
that fastembed uses, because importing fastembed itself would take longer than a search may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..languages.stemming import Stemmers
from ..languages.words import find_words
from .embedder import Sparse

USUAL_LANGUAGE = "en"  # of texts that do not say theirs
# fastembed's defaults: how quickly repetitions of a word stop counting, how much the length
# of a text counts, the usual length in words, and the longest word in characters.
_K, _B, _USUAL_LENGTH, _LONGEST_WORD = 1.2, 0.75, 256.0, 40


class Bm25Encoder:
    """An encoder of texts as BM25 vectors.

    language: of the texts that come without one, by its code or name; the default is English."""

    name = "bm25"
    idf = True

    def __init__(self, language: str = "") -> None:
        import mmh3

        self._hash = mmh3.hash
        self._stemmers = Stemmers(language.strip() or USUAL_LANGUAGE)
        self.language = self._stemmers.of("").language

    def encode(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Sparse]:
        """See `SparseEncoder`."""
        return [self._encode(text, lang) for text, lang in zip(texts, languages or [""] * len(texts), strict=True)]

    def encode_query(self, text: str, languages: Sequence[str] = ()) -> Sparse:
        """See `SparseEncoder`."""
        stemmers = [self._stemmers.of(language) for language in languages or ("",)]
        stems = (stemmer.stem(word) for word in _short_words(text) for stemmer in stemmers)
        indices = list(dict.fromkeys(abs(self._hash(stem)) for stem in stems if stem))
        return Sparse(indices, [1.0] * len(indices))

    def _encode(self, text: str, language: str) -> Sparse:
        stem = self._stemmers.of(language).stem
        words = [made for word in _short_words(text) if (made := stem(word))]
        length = _K * (1 - _B + _B * len(words) / _USUAL_LENGTH)
        weights = {abs(self._hash(word)): n * (_K + 1) / (n + length) for word, n in Counter(words).items()}
        return Sparse(list(weights), list(weights.values()))


def _short_words(text: str) -> list[str]:
    return [word for word in find_words(text) if len(word) <= _LONGEST_WORD]
