"""Count term statistics: document frequencies and text lengths.

They are stored during indexing, so that a search reads only the texts that it ranks.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..models.languages.stemming import Stemmer, Stemmers
from ..models.languages.words import find_words
from .passages import Material, Passage, Section

_EMPHASIS = re.compile(r"(?=[*_])(?<![\w*])(\*{1,3}|_{1,3})(?=\S)([^*_]{1,80})(?<=\S)\1(?![\w*])")
_ABBREVIATION = re.compile(r"\s\(([^\W_]*[A-Z][^\W_]*[A-Z][^\W_]*)\)")  # after a term: "*standard error* (SE)"
_TERM = re.compile(r"^(\S[^\n]{0,80})\n+(?=:[ \t]{1,3}\S)", re.M)  # of a definition list

Texts = dict[str, str]  # by field name


def emphasised(markdown: str) -> list[str]:
    """Return the emphasised words of a text, each with the abbreviation after it, and its definition-list terms."""
    terms = _TERM.findall(markdown) if "\n:" in markdown else []
    words = list[str]()
    for match in _EMPHASIS.finditer(markdown):
        words.append(match[2])
        if abbreviation := _ABBREVIATION.match(markdown, match.end()):
            words.append(abbreviation[1])
    return words + terms


def texts_about(section: Section) -> Texts:
    """Return a section's titles, questions and summary, by field."""
    titles, questions = " ".join(section.titles), " ".join(section.questions)
    return {"title": titles, "questions": questions, "summary": section.summary}


def texts_of(passage: Passage) -> Texts:
    """Return a passage's text, and the terms in it."""
    return {"terms": " ".join(emphasised(passage.text)), "text": passage.text}


@dataclass
class TermStatistics:
    """Statistics of the words of documents.

    texts: number of passages and sections; stems: document frequencies
    lengths, fields: words and texts by field; words: by language code
    types, languages, titles: see `Material`"""

    texts: int = 0
    stems: Counter[str] = field(default_factory=Counter)
    lengths: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    words: dict[str, dict[str, None]] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    titles: dict[str, str] = field(default_factory=dict)

    def add(self, texts: Texts, language: str, stemmer: Stemmer) -> None:
        """Count the fields of one text."""
        stems: dict[str, None] = {}  # in text order, for reproducible bytes
        words_of_language = self.words.setdefault(language, {})
        for name, text in texts.items():
            words = find_words(text)
            stems_of_field = [stem for stem in map(stemmer.stem, words) if stem]
            words_of_language.update(dict.fromkeys(words))
            stems.update(dict.fromkeys(stems_of_field))
            self.lengths[name] += len(stems_of_field)
            self.fields[name] += 1
        self.stems.update(stems.keys())
        self.texts += 1

    def update(self, other: TermStatistics) -> None:
        self.texts += other.texts
        for name in ("stems", "lengths", "fields", "types", "languages", "titles"):
            getattr(self, name).update(getattr(other, name))
        for language, words in other.words.items():
            self.words.setdefault(language, {}).update(words)

    @property
    def language(self) -> str:
        """The most frequent language code, or ""."""
        return max(self.languages, key=lambda code: self.languages[code], default="")

    def packed(self) -> str:
        """Serialize without blanks."""
        values = {**vars(self), "words": {language: " ".join(words) for language, words in self.words.items()}}
        text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
        return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 1)).decode("ascii")


def unpack_statistics(packed: str) -> TermStatistics:
    """Return the statistics from `TermStatistics.packed`. Raise ValueError for other texts."""
    try:
        values: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
        words = {language: dict.fromkeys(text.split()) for language, text in values.pop("words").items()}
        texts, titles = values.pop("texts"), values.pop("titles")
        counters = {name: Counter(counts) for name, counts in values.items()}
        return TermStatistics(texts, words=words, titles=titles, **counters)
    except (zlib.error, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no term statistics: {error}") from error


def count_terms(material: Material, stemmers: Stemmers) -> TermStatistics:
    """Return a material's word statistics. stemmers: set the default language."""
    statistics = TermStatistics(types=material.types.copy(), languages=material.languages.copy())
    statistics.titles = dict(material.titles)
    for section in material.walk():
        about = texts_about(section), section.language
        for texts, language in (about, *((texts_of(passage), passage.language) for passage in section.passages)):
            statistics.add(texts, language or stemmers.language, stemmers.of(language))
    return statistics
