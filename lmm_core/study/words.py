"""Collect the words of a course, and the words in questions that it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..indexing.passages import Material, Section
from ..models.languages.stemming import Stemmers
from ..models.languages.words import find_words, fold
from ..retrieve.ranking.words import asked_words, frequent_words
from .measures import Labelled


class CourseWords:
    """Stems of all words in texts, titles, summaries and synonyms.

    language: code, of questions
    synonyms: see `[retrieve]` of the configuration"""

    def __init__(self, material: Material, language: str, synonyms: Mapping[str, Iterable[str]] | None = None) -> None:
        self.language = language
        self._stemmers = Stemmers(language)
        self._stems: set[str] = set()
        for section in material.walk():
            stemmer = self._stemmers.of(section.language)
            for text in (section.title, section.summary, *(passage.text for passage in section.passages)):
                self._stems.update(stemmer.stems(text))
        names = [name for key, more in (synonyms or {}).items() for name in (key, *more)]
        self._stems.update(stem for name in names for word in find_words(name) for stem in self._stemmers.meant(word))
        self._frequent = frozenset[str]().union(*map(frequent_words, material.languages))

    def asked(self, question: str) -> dict[str, str]:
        """Return a question's content words by stem, without words frequent in a language of the course."""
        words = asked_words(question, self.language)
        return {min(self._stemmers.meant(word)): word for word in words if fold(word) not in self._frequent}

    def unknown(self, question: str) -> dict[str, str]:
        """Return a question's content words that no text has, in any form."""
        asked = self.asked(question)
        return {stem: word for stem, word in asked.items() if self._stems.isdisjoint(self._stemmers.meant(word))}


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word missing from the course. asked: missed questions containing it."""

    word: str
    asked: tuple[Labelled, ...]

    @property
    def section(self) -> Section:
        """Section that answers most of the questions."""
        keys = [labelled.section.key for labelled in self.asked]
        return max((labelled.section for labelled in self.asked), key=lambda section: keys.count(section.key))


def missing_words(missed: Sequence[Labelled], course: CourseWords) -> list[MissingWord]:
    """Return words of missed questions unknown to the course, the most frequent first."""
    forms: dict[str, str] = {}
    asked: dict[str, list[Labelled]] = {}
    for labelled in missed:
        for stem, word in course.unknown(labelled.question).items():
            forms.setdefault(stem, word)
            asked.setdefault(stem, []).append(labelled)
    return sorted(
        (MissingWord(forms[stem], tuple(asked[stem])) for stem in forms), key=lambda missing: -len(missing.asked)
    )
