"""The other names of what a question asks for, as the configuration gives them.

A question with one name is taken to mean the others, too, with less weight. The words of a name
count one by one, as they would if it had been typed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...models.languages.stemming import Stemmer
from ...models.languages.words import find_words, fold
from .words import Vocabulary, asked_words, frequent_words, names_subject

OTHER_NAME = 0.5  # weight of a word of another name
MOST_OTHERS = 3  # other names of one thing, the most frequent ones
_MOST_WORDS = 8  # of a name
_SHORT, _ENDING = 5, 2  # letters: only longer names have other endings than `s`, of so many letters at most

Synonymous = Mapping[str, Sequence[str]]  # the names that mean the same as a name
_Key = tuple[str, ...]  # the stems of a name


@dataclass(frozen=True)
class Named:
    """A name that a question uses: its words there, folded, and the other names, the most frequent first."""

    name: str
    words: tuple[str, ...]
    others: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} = {', '.join(self.others)}"


class Synonyms:
    """The names that mean the same. A name that is also another word, such as "IT", is known by its capitals alone."""

    def __init__(self, stemmer: Stemmer, language: str, configured: Synonymous) -> None:
        """stemmer: of the usual language; language: its code."""
        self._stemmer, self._language = stemmer, language
        self._spelled: dict[_Key, str] = {}
        others: dict[_Key, list[_Key]] = defaultdict(list)
        for one, other in filter(None, (self._keys(name, other) for name in configured for other in configured[name])):
            for own, meant in ((one, other), (other, one)):
                if meant not in others[own] and len(others[own]) < MOST_OTHERS:
                    others[own].append(meant)
        self._others = dict(others)
        self._exact = frozenset(filter(self._is_other_word, self._spelled))

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(key) for key in self._others}, reverse=True)

    def _keys(self, *names: str) -> tuple[_Key, _Key] | None:
        one, other = (self._key(find_words(name)) for name in names)
        if one == other or not (0 < len(one) <= _MOST_WORDS and 0 < len(other) <= _MOST_WORDS):
            return None
        for key, name in zip((one, other), names, strict=True):
            self._spelled.setdefault(key, name)
        return one, other

    def _key(self, words: Iterable[str]) -> _Key:
        return tuple(self._stemmer.stem(word) or fold(word) for word in words)

    def _is_other_word(self, key: _Key) -> bool:
        """Return True if a name differs from a frequent word by its capitals alone."""
        name = self._spelled[key]
        return len(key) == 1 and not name[1:].islower() and name.lower() in frequent_words(self._language)

    def pairs(self) -> list[tuple[str, list[str]]]:
        """Return all names with their other names, as they are configured."""
        return [(self._spelled[key], self._names(key)) for key in self._others]

    def needs_capitals(self, name: str) -> bool:
        """Return True if a name is known by its capitals alone."""
        return self._key(find_words(name)) in self._exact

    def _names(self, key: _Key) -> list[str]:
        return [self._spelled[one] for one in self._others[key]]

    def used(self, question: str) -> list[Named]:
        """Return the names in a question that have others, in their order, each once."""
        words = find_words(question) if self._others else []
        found: dict[_Key, Named] = {}
        at = 0
        while at < len(words):
            key = next(filter(None, (self._name(words[at : at + size], question) for size in self._lengths)), ())
            if key:
                own = tuple(map(fold, words[at : at + len(key)]))
                found.setdefault(key, Named(self._spelled[key], own, tuple(self._names(key))))
            at += len(key) or 1
        return list(found.values())

    def _name(self, words: Sequence[str], question: str) -> _Key:
        """Return the name that words of a question are, or ()."""
        key = self._key(words)
        return key if key in self._others and self._is_used(key, words, question) else ()

    def _is_used(self, key: _Key, words: Sequence[str], question: str) -> bool:
        name = self._spelled[key]
        if key in self._exact:
            capitals = not question.isupper() or " " not in question.strip()
            return capitals and re.search(rf"(?<!\w){re.escape(name)}s?(?!\w)", question) is not None
        return len(key) > 1 or _is_form(fold(words[0]), fold(name))

    def replaced(self, question: str) -> str:
        """Return a question with the first other name in place of each name that has one, or "" if none has."""
        used = self.used(question)
        for named in used:
            words = r"\W+".join(map(re.escape, named.words))
            found = re.search(rf"(?<!\w){words}(?!\w)", question, re.I)
            start, end = found.span() if found else (len(question), len(question))
            question = f"{question[:start]} {named.others[0]} {question[end:]}"
        return " ".join(question.split()) if used else ""

    def are_known(self, question: str, vocabulary: Vocabulary) -> bool:
        """Return True if the texts have the words of all names in a question."""
        words = (word for named in self.used(question) for word in named.words)
        return all(stem in vocabulary.counts for word in words if (stem := self._stemmer.stem(word)))

    def meant(self, question: str, vocabulary: Vocabulary) -> list[dict[str, float]]:
        """Return for each word that a question asks for the stems that are meant by it, with their weights.

        There are more of them where the notes have only a longer name."""
        used = self.used(question)
        words = asked_words(question, self._language) if not used or names_subject(question, self._language) else []
        words = vocabulary.without_unknown(words)
        meant = {fold(word): vocabulary.meant(word) for word in words}
        further: list[dict[str, float]] = []
        for named in used:
            further += self._add(meant, named, vocabulary)
        return [*meant.values(), *further]

    def _add(self, meant: dict[str, dict[str, float]], named: Named, vocabulary: Vocabulary) -> list[dict[str, float]]:
        """Add other names to what is meant by the words of a name, and return what is meant by further words.

        There are further words only if no text has the name: they are asked for in its place."""
        names = [[one for word in find_words(other) if (one := self._stemmer.stem(word))] for other in named.others]
        names = [name for name in names if name and set(name) <= vocabulary.counts.keys()]
        own = [word for word in named.words if word in meant]
        known = [meant[word] for word in own]
        further: list[dict[str, float]] = []
        if names and not any((self._stemmer.stem(word) or word) in vocabulary.counts for word in own):
            for stems in known:  # of a typing error, which it is not
                stems.clear()
            further = [{} for _ in range(max(map(len, names)) - len(known))]
        for name in names:
            _mean(name, [*known, *further])
        return further


def _mean(name: Sequence[str], words: Sequence[dict[str, float]]) -> None:
    """Let words of a question mean the words of another name, each at its place, more than one if that is longer."""
    weight = OTHER_NAME * min(1.0, len(words) / len(name))
    for at in range(max(len(words), len(name))):
        words[min(at, len(words) - 1)].setdefault(name[min(at, len(name) - 1)], weight)


def _is_form(word: str, name: str) -> bool:
    """Return True if a word is a name or a form of it. A stem alone would make `united` a form of `unit`."""
    ending = word.removeprefix(name) if word.startswith(name) else word
    return ending in ("", "s") or (len(name) > _SHORT and len(ending) <= _ENDING)
