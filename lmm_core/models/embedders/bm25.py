"""BM25 as sparse vectors: the weighted words of a text. Qdrant adds how rare each word is.

The vectors equal those of fastembed's `Qdrant/bm25` and are made with the libraries that
fastembed uses, because importing fastembed itself would take longer than a search may.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ...errors import ModelError
from .embedder import Sparse

LISTS = Path(__file__).parents[1] / "stopword_lists"
LANGUAGES = {"en": "english", "de": "german", "fr": "french", "it": "italian", "es": "spanish"}
NO_LANGUAGE = "none"
# fastembed's defaults: how quickly repetitions of a word stop counting, how much the length
# of a text counts, the usual length in words, and the longest word in characters.
_K, _B, _USUAL_LENGTH, _LONGEST_WORD = 1.2, 0.75, 256.0, 40
_MOST_WORDS_KNOWN = 500_000  # about 80 MB
_SIGN = re.compile(r"[^\w\s]")
_WORD = re.compile(r"\w+")


def bm25_language(lang: str) -> str:
    """Return the language of a code (`de`, `de-AT`) or name (`german`).

    The default is English; a language without a list of stop words is `none`."""
    if not lang.strip():
        return "english"
    code = re.split(r"[-_.]", lang.strip().lower())[0]
    return LANGUAGES.get(code, code if code in LANGUAGES.values() else NO_LANGUAGE)


def code_of_language(name: str) -> str:
    """Return the code of a language that is given by its name (`de` of `german`), or ""."""
    return next((code for code, known in LANGUAGES.items() if known == name), "")


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words of a language that say nothing about a text's subject.

    Raise ModelError if the list is missing, since a search without it would give other results."""
    file = LISTS / f"{language}.txt"
    try:
        return frozenset(file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}. Install LM markdown again.", stop=True) from None


class Bm25Encoder:
    """An encoder of texts in one language, given by its code or name, as BM25 vectors.

    In a language without stop words here, every word counts, in exactly the form it has."""

    def __init__(self, language: str = "") -> None:
        import mmh3

        self._hash = mmh3.hash
        self.language = bm25_language(language)
        self.name = f"bm25/{self.language}"
        known = self.language != NO_LANGUAGE
        self._left_out = stop_words(self.language) if known else frozenset()
        self._stem = make_stemmer(self.language) if known else str
        self._stems: dict[str, str] = {}

    def encode(self, texts: Sequence[str]) -> list[Sparse]:
        """See `SparseEncoder`."""
        return [self._encode(text) for text in texts]

    def encode_query(self, text: str) -> Sparse:
        """See `SparseEncoder`."""
        indices = list(dict.fromkeys(abs(self._hash(word)) for word in self._words(text)))
        return Sparse(indices, [1.0] * len(indices))

    def _encode(self, text: str) -> Sparse:
        words = self._words(text)
        length = _K * (1 - _B + _B * len(words) / _USUAL_LENGTH)
        weights = {abs(self._hash(word)): n * (_K + 1) / (n + length) for word, n in Counter(words).items()}
        return Sparse(list(weights), list(weights.values()))

    def _words(self, text: str) -> list[str]:
        """Return the stems of the words that count, in order."""
        if len(self._stems) > _MOST_WORDS_KNOWN:
            self._stems.clear()
        stems, found = self._stems, []
        composed = unicodedata.normalize("NFC", text)  # `é` as one character, as it is typed
        for word in _WORD.findall(_SIGN.sub(" ", composed).lower()):
            stem = stems.get(word)
            if stem is None:
                stem = stems[word] = self._stem_of(word)
            if stem:
                found.append(stem)
        return found

    def _stem_of(self, word: str) -> str:
        """Return the stem of a word, or "" if the word does not count."""
        if word == "_" or word in self._left_out or len(word) > _LONGEST_WORD:
            return ""
        return self._stem(word)


def make_stemmer(language: str) -> Callable[[str], str]:
    """Return a function that makes stems of the words of a language, given by its name."""
    from py_rust_stemmers import SnowballStemmer

    stem: Callable[[str], str] = SnowballStemmer(language).stem_word
    return stem
