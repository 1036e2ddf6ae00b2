"""The counts of a material's words, document by document, so that those of an unchanged document can be used again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field

from ...index.passages import Material, Passage, Section
from ...models.languages.stemming import Stemmer, Stemmers
from ...models.languages.words import find_words, fold
from .naming import Pair
from .synonyms import Synonymous, Synonyms, pairs_in, words_said
from .words import CountedStems, Stems

_EMPHASIS = re.compile(r"(?=[*_])(?<![\w*])(\*{1,3}|_{1,3})(?=\S)([^*_]{1,80})(?<=\S)\1(?![\w*])")
_TERM = re.compile(r"^(\S[^\n]{0,80})\n+(?=:[ \t]{1,3}\S)", re.M)  # of a definition list

Texts = dict[str, str]  # by the names of their fields


def emphasised(markdown: str) -> list[str]:
    """Return the words that a text emphasises, and the terms of its definition lists."""
    terms = _TERM.findall(markdown) if "\n:" in markdown else []
    return [found[2] for found in _EMPHASIS.finditer(markdown)] + terms


def texts_about(section: Section) -> Texts:
    """Return what is said about a section."""
    titles, questions = " ".join(section.titles), " ".join(section.questions)
    return {"title": titles, "questions": questions, "summary": section.summary}


def texts_of(passage: Passage) -> Texts:
    """Return a passage's text, and the terms in it."""
    return {"terms": " ".join(emphasised(passage.text)), "text": passage.text}


@dataclass
class DocumentCounts:
    """What is counted of the words of a document.

    texts: their number; stems: of each, the texts that have it; lengths, fields: of each field, its words and its
    texts; words: in each language, by its code, as they first occur; pairs: of names that mean the same."""

    texts: int = 0
    stems: Counter[str] = field(default_factory=Counter)
    lengths: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    words: dict[str, dict[str, None]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)

    def add(self, texts: Texts, language: str, stemmer: Stemmer) -> None:
        """Count what is said of one thing. language: its code."""
        stems = set[str]()
        known = self.words.setdefault(language, {})
        for name, text in texts.items():
            words = find_words(text)
            found = [stem for stem in map(stemmer.stem, words) if stem]
            known.update(dict.fromkeys(words))
            stems.update(found)
            self.lengths[name] += len(found)
            self.fields[name] += 1
        self.stems.update(stems)
        self.texts += 1


def count_document(document: Section, stemmers: Stemmers) -> DocumentCounts:
    """Return what is counted of the words of a document."""
    counted = DocumentCounts()
    for section in document.walk():
        for texts, language in _texts_in(section):
            counted.add(texts, language or stemmers.language, stemmers.of(language))
        counted.pairs += pairs_in(passage.text for passage in section.passages)
    return counted


def _texts_in(section: Section) -> Iterator[tuple[Texts, str]]:
    yield texts_about(section), section.language
    yield from ((texts_of(passage), passage.language) for passage in section.passages)


@dataclass
class Counts:
    """What is counted of the words of a material.

    lengths, fields: see `DocumentCounts`; texts_in: the number of texts of each document, by its docid;
    stems_in: the stems of each document, with its texts that have each; stems: those of all texts; synonyms: the
    names that mean the same."""

    lengths: Counter[str]
    fields: Counter[str]
    texts_in: Mapping[str, int]
    stems_in: Mapping[str, Mapping[str, int]]
    stems: Stems
    synonyms: Synonyms


class Sum:
    """The sum of the counts of documents, which are added in their order."""

    def __init__(self) -> None:
        self.lengths, self.fields, self.stems = Counter[str](), Counter[str](), Counter[str]()
        self._words: dict[str, dict[str, None]] = {}
        self._pairs: list[Pair] = []

    def add(self, one: DocumentCounts) -> None:
        """Add the counts of the next document."""
        self.lengths.update(one.lengths)
        self.fields.update(one.fields)
        self.stems.update(one.stems)
        for language, words in one.words.items():
            self._words.setdefault(language, {}).update(words)
        self._pairs += one.pairs

    @property
    def languages(self) -> list[str]:
        """The codes of the languages, as they first occur."""
        return list(self._words)

    def counted_stems(self, stemmers: Stemmers) -> CountedStems:
        """Return the stems of all texts, with their words."""
        return CountedStems(self.stems, self._forms(stemmers))

    def _forms(self, stemmers: Stemmers) -> Iterator[tuple[str, str]]:
        for language, words in self._words.items():
            stem_of = stemmers.of(language).stem
            yield from ((fold(word), stem) for word in words if (stem := stem_of(word)))

    def synonyms(
        self, stemmers: Stemmers, language: str, configured: Synonymous, said: Callable[[Set[str]], Set[str]]
    ) -> Synonyms:
        """Return the names that mean the same. said: see `Synonyms`."""
        return Synonyms((), stemmers.of(""), language, configured, self._pairs, said)


def count_material(material: Material, stemmers: Stemmers, language: str, synonyms: Synonymous) -> Counts:
    """Return what is counted of the words of a material."""
    whole, texts_in, stems_in = Sum(), Counter[str](), dict[str, Counter[str]]()
    for document in material.documents:
        counted = count_document(document, stemmers)
        whole.add(counted)
        texts_in[document.docid], stems_in[document.docid] = counted.texts, counted.stems

    def said(names: Set[str]) -> set[str]:
        return words_said((passage.text for section in material.walk() for passage in section.passages), names)

    stems = whole.counted_stems(stemmers)
    names = whole.synonyms(stemmers, language, synonyms, said)
    return Counts(whole.lengths, whole.fields, texts_in, stems_in, stems, names)
