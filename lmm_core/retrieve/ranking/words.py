"""The words of texts and questions, in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ...models.embedders.bm25 import LANGUAGES, NO_LANGUAGE, bm25_language, code_of_language, make_stemmer, stop_words
from ...models.stopwords import STOPWORDS

MOST_WORDS = 40  # of a question that are looked for
PREFIX = 0.5  # weight of a word that goes on after the word that is asked for
FUZZY = 0.9  # weight of a word for which the one that is asked for may be a typing error
_SHORTEST_PREFIX = 4  # letters
_TYPOS = 0.2  # for each letter
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # each is a word
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")
_CONTRACTION = re.compile(r"n['’]t\b|['’](?:s|re|ve|ll|d|m)\b")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i"})
# Words that say what is wanted to be known of a subject, and not which subject.
_WANTED = frozenset(
    """define defined definition definitions describe difference differences differ explain explained explanation
    meaning means tell versus vs whats example examples formula table bedeutet bedeuten bedeutung besagt definiere
    definiert erklare erklaren erklarung heisst unterschied unterschiede versteht beispiel formel tabelle definir
    expliquer signifie exemple formule definicion diferencia diferencias explicar significa ejemplo definizione
    differenza differenze spiegare esempio""".split()
)
# "mean" in a question for the meaning of something is not the word of statistics.
_MEANING = re.compile(r"^(\s*what (?:do|does|did)\b.*)\bmean(?=\W*$)", re.I | re.S)


def fold(text: str) -> str:
    """Return a text without case and accents."""
    lower = text.lower()
    if lower.isascii():
        return lower
    apart = unicodedata.normalize("NFD", lower)
    return "".join(sign for sign in apart if not unicodedata.combining(sign)).translate(_LETTERS)


def find_words(text: str) -> list[str]:
    """Return the words of a text in their order, in lower case. A Chinese or Japanese character is a word."""
    composed = unicodedata.normalize("NFC", text).lower()  # `é` as one character, which is a letter
    return _WORD.findall(_CONTRACTION.sub("", composed))


@cache
def frequent_words(language: str) -> frozenset[str]:
    """Return the words of a language (by name or code) that say nothing about a text's subject, folded."""
    name = bm25_language(language)
    if name == NO_LANGUAGE:
        return frozenset()
    longer = STOPWORDS.get(code_of_language(name), frozenset())  # it has `know` and the like
    return frozenset(map(fold, stop_words(name) | longer))


def asked_words(question: str, language: str) -> list[str]:
    """Return the words of a question that say what it is about, or all if none do, each once.

    language: of the material, by name. A question is in another language if it has at least two
    more of its frequent words."""
    words = list(dict.fromkeys(map(fold, find_words(_MEANING.sub(r"\1", question)))))[:MOST_WORDS]
    left_out = frequent_words(_language_of(words, language))
    kept = [word for word in words if word not in left_out] or words
    return [word for word in kept if word not in _WANTED] or kept


def names_subject(question: str, language: str) -> bool:
    """Return True if a question has a word that is not among the frequent ones; see `asked_words`."""
    words = list(map(fold, find_words(question)))[:MOST_WORDS]
    return not frequent_words(_language_of(words, language)).issuperset(words)


def words_data() -> dict[str, list[str]]:
    """Return the words that are left out of questions, as the ask box reads them: frequent ones by
    language, and those that say what is wanted."""
    return {"": sorted(_WANTED)} | {name: sorted(frequent_words(name)) for name in LANGUAGES.values()}


def _language_of(words: Sequence[str], usual: str) -> str:
    counts = {name: sum(word in frequent_words(name) for word in words) for name in (usual, *LANGUAGES.values())}
    most = max(counts, key=lambda name: counts[name])
    return most if counts[most] >= counts[usual] + 2 else usual


class Stemmer:
    """Makes words comparable: each becomes its stem. The language is given by its name."""

    def __init__(self, language: str) -> None:
        name = bm25_language(language)
        self._stem = make_stemmer(name) if name != NO_LANGUAGE else str
        self._left_out = {fold(word) for word in stop_words(name)} if name != NO_LANGUAGE else set()
        self._known: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """Return the stem of a word, or "" if it is a frequent word."""
        stem = self._known.get(word)
        if stem is None:
            folded = fold(word)
            stem = self._known[word] = "" if folded in self._left_out else self._stem(folded)
        return stem

    def forms(self) -> Iterator[tuple[str, str]]:
        """Yield the words that have been stemmed so far, folded, with their stems."""
        return ((fold(word), stem) for word, stem in self._known.items() if stem)

    def stems(self, text: str) -> list[str]:
        """Return the stems of a text's words in their order, without frequent words."""
        return [stem for stem in map(self.stem, find_words(text)) if stem]


class Vocabulary:
    """The stems of some texts, with the number of texts that have each, and the words they stand for."""

    def __init__(self, stemmer: Stemmer, texts: Iterable[set[str]]) -> None:
        self.stemmer = stemmer
        self.size = 0  # texts
        self.counts: Counter[str] = Counter()
        for stems in texts:
            self.size += 1
            self.counts.update(stems)
        self._sorted = sorted(self.counts)
        self._forms: dict[str, str] = {}  # of each stem the shortest word
        self._alike: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
        for word, stem in stemmer.forms():
            if stem in self.counts:
                self._forms[stem] = min(self._forms.get(stem, word), word, key=lambda one: (len(one), one))
                self._alike[word[:1], len(word)].append((word, stem))

    def meant(self, word: str) -> dict[str, float]:
        """Return the stems that may be meant by a word of a question, each with its weight.

        These are its own, those that go on after it, and, if there are none, those of the words
        from which it differs by typing errors. As in MiniSearch, there may be one for five letters."""
        stem = self.stemmer.stem(word) or word
        found = {one: PREFIX for one in self._starting(stem) if len(stem) >= _SHORTEST_PREFIX}
        if stem in self.counts:
            found[stem] = 1.0
        return found or dict.fromkeys(self._near(word), FUZZY)

    def known_words(self, word: str) -> list[str]:
        """Return a word, or, if no text has it, the words that may be meant by it."""
        stem = self.stemmer.stem(word) or word
        return [word] if stem in self.counts else [self._forms[one] for one in self.meant(word)] or [word]

    def _starting(self, stem: str) -> Iterator[str]:
        for at in range(bisect_left(self._sorted, stem), len(self._sorted)):
            if not self._sorted[at].startswith(stem):
                return
            yield self._sorted[at]

    def _near(self, word: str) -> list[str]:
        """Return the stems of the nearest words with the same first letter that are near enough."""
        most = round(_TYPOS * len(word)) if len(word) > _SHORTEST_PREFIX else 0
        near: dict[str, int] = {}
        for size in range(len(word) - most, len(word) + most + 1):
            for one, stem in self._alike.get((word[:1], size), ()) if most else ():
                if (far := typing_errors(word, one, most)) <= most:
                    near[stem] = min(far, near.get(stem, far))
        least = min(near.values(), default=0)
        return [stem for stem, far in near.items() if far == least]


def typing_errors(one: str, other: str, most: int) -> int:
    """Return how many letters must be added, dropped, replaced or swapped with the next to make one
    word of another (the optimal string alignment distance), or `most` + 1 if that is more."""
    before, last = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, against in enumerate(other, 1):
            far = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                far = min(far, before[j - 2] + 1)
            row.append(far)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]
