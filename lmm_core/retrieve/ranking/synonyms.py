"""Other names of what a question asks for, as `[retrieve] synonyms` gives them.

A question with one name also finds texts with the others: each word of the name may stand for any word of another
name, with less weight. The ask box does the same (`otherNames` in search.js).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...models.languages.stemming import Stemmer
from ...models.languages.words import find_words, fold
from .weights import OTHER_NAME
from .words import Vocabulary, asked_words, frequent_words

MOST_OTHERS = 3  # other names of one name

Synonymous = Mapping[str, Sequence[str]]  # the names that mean the same as a name


@dataclass(frozen=True)
class Name:
    """A name with its other names.

    needs_capitals: it differs from a frequent word by its capitals alone (`OR`), and has to be written so."""

    name: str
    stems: tuple[str, ...]
    others: tuple[str, ...]
    needs_capitals: bool

    def __str__(self) -> str:
        return f"{self.name} = {', '.join(self.others)}"

    def is_written_in(self, question: str) -> bool:
        """Return True if a question has the name with its capitals, and not only because all of it is in capitals."""
        written = re.search(rf"(?<!\w){re.escape(self.name)}s?(?!\w)", question)
        return written is not None and (not question.isupper() or " " not in question.strip())


class Synonyms:
    """The names that mean the same, in both directions. language: of questions, by its code."""

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
        """Return the names in a question."""
        stems = self._stems(question) if self.names else ()
        named = [name for name in self.names if _stand_in(name.stems, stems)]
        return [name for name in named if not name.needs_capitals or name.is_written_in(question)]

    def expanded(self, question: str) -> str:
        """Return a question followed by the other names of the names in it."""
        return " ".join([question, *dict.fromkeys(other for name in self.used(question) for other in name.others)])

    def meant(self, question: str, vocabulary: Vocabulary) -> list[dict[str, float]]:
        """Return the stems that each word of a question may mean, with their weights."""
        words = vocabulary.without_unknown(question, asked_words(question, self._language))
        meant = {self._stemmer.stem(word) or fold(word): vocabulary.meant(word) for word in words}
        for name in self.used(question):
            others: dict[str, float] = {}
            for stems in map(self._stems, name.others):
                others |= {stem: OTHER_NAME / len(stems) for stem in stems if stem in vocabulary.counts}
            for stem in name.stems if others else ():
                own = meant.get(stem, {}) if stem in vocabulary.counts else {}  # else words that are spelled alike
                meant[stem] = others | own
        return list(meant.values())


def _stand_in(name: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(name)] == name for at in range(len(words) - len(name) + 1))
