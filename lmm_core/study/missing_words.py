"""The words of missed questions that a course never uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..models.languages.words import fold
from ..retrieve.passages import Section
from ..retrieve.ranking.lexical import LexicalIndex
from ..retrieve.ranking.words import asked_words, frequent_words, word_weights
from .measures import Labelled


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word that no text of the course has, in any form.

    near: the word of the course that the search takes it for, or ""; asked: the missed questions with it."""

    word: str
    near: str
    asked: tuple[Labelled, ...]

    @property
    def section(self) -> Section:
        """The section that answers most of the questions."""
        keys = [one.section.key for one in self.asked]
        return max((one.section for one in self.asked), key=lambda section: keys.count(section.key))


def missing_words(missed: Sequence[Labelled], course: LexicalIndex) -> list[MissingWord]:
    """Return the words that say what missed questions are about and that the course never uses.

    course: its words, without the annotated questions. The most frequent words come first. Words
    are the same if one of their stems is, in the languages of the course."""
    forms: dict[str, str] = {}
    asked: dict[str, list[Labelled]] = {}
    for one in missed:
        for stem, word in dict(unknown_words(one.question, course)).items():
            forms.setdefault(stem, word)
            asked.setdefault(stem, []).append(one)
    found = [MissingWord(forms[stem], near_word(forms[stem], course), tuple(asked[stem])) for stem in forms]
    return sorted(found, key=lambda one: -len(one.asked))


def unknown_words(question: str, course: LexicalIndex) -> Iterator[tuple[str, str]]:
    """Yield the stems and words of a question that no text has, but not those of names that have others.

    Frequent words of any language of the course are left out, since a short question hardly tells its own, and
    words with which a question speaks of the text."""
    known = {word for named in course.synonyms.used(question) for word in named.words}
    known.update(*map(frequent_words, course.material.languages))
    words = course.vocabulary.without_unknown(asked_words(question, course.language))
    for word, weight in zip(words, word_weights(words), strict=True):
        stems = course.stemmers.meant(word)
        if weight == 1 and course.vocabulary.counts.keys().isdisjoint(stems) and fold(word) not in known:
            yield min(stems), word


def near_word(word: str, course: LexicalIndex) -> str:
    """Return the known word that another one is taken for, as a typing error is, or ""."""
    near = course.vocabulary.known_words(word)[0]
    return near if near != word else ""
