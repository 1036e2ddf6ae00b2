"""BM25 as sparse vectors: the weighted words of a text. Qdrant adds how rare each word is.

The weights equal those of fastembed's `Qdrant/bm25`, and the vectors are made with the libraries
that fastembed uses, because importing fastembed itself would take longer than a search may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..languages.known import KnownWords
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

        self._numbers = KnownWords(lambda stem: abs(mmh3.hash(stem)))
        self._stemmers = Stemmers(language.strip() or USUAL_LANGUAGE)
        self.language = self._stemmers.of("").language

    def encode(self, texts: Sequence[str], languages: Sequence[str] = ()) -> list[Sparse]:
        """See `SparseEncoder`."""
        return [self._encode(text, lang) for text, lang in zip(texts, languages or [""] * len(texts), strict=True)]

    def encode_query(self, text: str, languages: Sequence[str] = ()) -> Sparse:
        """See `SparseEncoder`."""
        stemmers = [self._stemmers.of(language) for language in languages or ("",)]
        stems = (stemmer.stem(word) for word in _short_words(text) for stemmer in stemmers)
        indices = list(dict.fromkeys(self._numbers[stem] for stem in stems if stem))
        return Sparse(indices, [1.0] * len(indices))

    def _encode(self, text: str, language: str) -> Sparse:
        counts = Counter(map(self._stemmers.of(language).stem, _short_words(text)))
        counts.pop("", None)  # stop words
        length = _K * (1 - _B + _B * counts.total() / _USUAL_LENGTH)
        weight = {n: n * (_K + 1) / (n + length) for n in set(counts.values())}
        weights = dict(
            zip(map(self._numbers.__getitem__, counts), map(weight.__getitem__, counts.values()), strict=True)
        )
        return Sparse(list(weights), list(weights.values()))


def _short_words(text: str) -> list[str]:
    words = find_words(text)
    if max(map(len, words), default=0) <= _LONGEST_WORD:
        return words
    return [word for word in words if len(word) <= _LONGEST_WORD]
