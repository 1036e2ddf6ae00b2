"""Expand questions by the synonyms in `[retrieve] synonyms`.

Each word of a name may also match any word of its synonyms, with less weight. The ask box does the same (`otherNames`
in search.js).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...models.languages.frequent import frequent_words
from ...models.languages.stemming import Stemmer
from ...models.languages.words import find_words, fold
from .weights import OTHER_NAME
from .words import Vocabulary, asked_words

MOST_OTHERS = 3  # synonyms used for a name

Synonymous = Mapping[str, Sequence[str]]  # synonyms by name


@dataclass(frozen=True)
class Name:
    """A name with its synonyms. needs_capitals: only capitals distinguish it from a frequent word (`OR`)."""

    name: str
    stems: tuple[str, ...]
    others: tuple[str, ...]
    needs_capitals: bool

    def __str__(self) -> str:
        return f"{self.name} = {', '.join(self.others)}"

    def is_written_in(self, question: str) -> bool:
        """Return True if a question has the name in capitals, but is not all in capitals."""
        match = re.search(rf"(?<!\w){re.escape(self.name)}s?(?!\w)", question)
        return match is not None and (not question.isupper() or " " not in question.strip())


class Synonyms:
    """Finds synonyms of names in questions, in both directions."""

    def __init__(self, stemmer: Stemmer, language: str, configured: Synonymous) -> None:
        self._stemmer, self._language = stemmer, language
        others: dict[str, list[str]] = defaultdict(list)
        for name in configured:
            for other in configured[name]:
                others[name].append(other)
                others[other].append(name)
        self.names = [self._name(name, others[name][:MOST_OTHERS]) for name in others if find_words(name)]

    def _name(self, name: str, others: Sequence[str]) -> Name:
        frequent = not name[1:].islower() and name.lower() in frequent_words(self._language)
        return Name(name, self._stems(name), tuple(others), frequent)

    def _stems(self, text: str) -> tuple[str, ...]:
        return tuple(self._stemmer.stem(word) or fold(word) for word in find_words(text))

    def used(self, question: str) -> list[Name]:
        """Return the names with synonyms that a question contains."""
        stems = self._stems(question) if self.names else ()
        names = [name for name in self.names if _stand_in(name.stems, stems)]
        return [name for name in names if not name.needs_capitals or name.is_written_in(question)]

    def expanded(self, question: str) -> str:
        """Return a question, followed by the synonyms of the names in it."""
        return " ".join([question, *dict.fromkeys(other for name in self.used(question) for other in name.others)])

    def weighted_stems(self, question: str, vocabulary: Vocabulary) -> list[dict[str, float]]:
        """Return the possible stems of each word, with weights."""
        words = vocabulary.without_unknown(question, asked_words(question, self._language))
        word_stems = {self._stemmer.stem(word) or fold(word): vocabulary.weighted_stems(word) for word in words}
        for name in self.used(question):
            others: dict[str, float] = {}
            for stems in map(self._stems, name.others):
                others |= {stem: OTHER_NAME / len(stems) for stem in stems if stem in vocabulary.counts}
            for stem in name.stems if others else ():
                own = word_stems.get(stem, {}) if stem in vocabulary.counts else {}  # skip similar spellings
                word_stems[stem] = others | own
        return list(word_stems.values())


def _stand_in(name: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(name)] == name for at in range(len(words) - len(name) + 1))
