"""Make the tables of a material: from all of it, or from those of before and what has changed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ...index.passages import Material
from ...models.languages.stemming import Stemmers
from ..ranking.counting import Sum
from ..ranking.synonyms import Synonymous
from .rows import Document, Row, documents_in, make_row
from .tables import Tables, as_json, write_tables


@dataclass(frozen=True)
class Settings:
    """What a material and its words depend on, beside the chunks.

    order, synonyms: see `Library`; language: of the encoder, for texts of which none is known."""

    order: Sequence[str]
    synonyms: Synonymous
    language: str

    @property
    def choices(self) -> list[Any]:
        """What another person may choose otherwise, as a value of JSON."""
        return [list(self.order), [[name, list(others)] for name, others in self.synonyms.items()]]

    def in_order(self, rows: Iterable[Row]) -> list[Row]:
        """Return documents in the order of `build_material`."""
        ranks = {source: rank for rank, source in enumerate(self.order)}
        return sorted(rows, key=lambda one: (ranks.get(one.source, len(ranks)), one.source, one.docid))


def make_tables(material: Material, settings: Settings, files: Mapping[str, str]) -> bytes:
    """Return the tables of a material. files: the fingerprints of the files that it is made of, by their sources."""
    making = _Making(settings, material.language or settings.language)
    for document in documents_in(material):
        making.add(document)
    return making.tables(files)


def update_tables(
    tables: Tables, changed: Material, gone: Set[str], settings: Settings, files: Mapping[str, str]
) -> bytes | None:
    """Return the tables of a material of which some documents have changed.

    None: all has to be made anew, since other texts depend on what has changed, too. changed: the documents as they
    are now; gone: the docids of those that have changed, or are there no longer; files: see `make_tables`."""
    making = _Making(settings, tables.whole("language"), frozenset(tables.whole("names")))
    for document in documents_in(changed):
        making.add(document)
    making.use(tables, gone)
    try:
        return making.tables(files)
    except _NotKnownError:
        return None


class _NotKnownError(Exception):
    """Something about the documents that are used again is not known, since it was not asked for when they were new."""


@dataclass
class _Making:
    """Tables while they are made.

    language: see `Library.language`; names: those of which it is known which documents have them as other words,
    None if all documents are new."""

    settings: Settings
    language: str
    names: Set[str] | None = None
    _rows: list[Row] = field(default_factory=list)
    _new: list[Document] = field(default_factory=list)
    _said: dict[str, str] = field(default_factory=dict)  # by docid, as JSON
    _passages: list[tuple[str, str]] = field(default_factory=list)  # with their documents

    def __post_init__(self) -> None:
        self._stemmers = Stemmers(self.language)

    def add(self, document: Document) -> None:
        """Take a new document, and count its words."""
        row = make_row(document, self._stemmers)
        self._rows.append(row)
        self._new.append(document)
        self._passages += [(ident, row.docid) for ident in document.passages]

    def use(self, tables: Tables, gone: Set[str]) -> None:
        """Take the documents of other tables, but those that are gone."""
        known = {number: Row(*values) for number, *values in tables.rows("SELECT rowid, * FROM documents")}
        used = {number: row for number, row in known.items() if row.docid not in gone}
        self._rows += used.values()
        self._said = {docid: said for docid, said in tables.rows("SELECT docid, names FROM said") if docid not in gone}
        passages = tables.rows("SELECT id, document FROM passages")
        self._passages += [(ident, used[number].docid) for ident, number in passages if number in used]

    def tables(self, files: Mapping[str, str]) -> bytes:
        """Return the tables. Raise _NotKnownError."""
        rows, whole, added = self.settings.in_order(self._rows), Sum(), _Added()
        for row in rows:
            about = row.what_is_added()
            whole.add(row.counts(about))
            added.add(about)
        if (added.language or self.settings.language) != self.language:
            raise _NotKnownError
        stems = whole.counted_stems(self._stemmers)
        synonyms = whole.synonyms(self._stemmers, self.language, self.settings.synonyms, self._others)
        values = {
            "files": files,
            "choices": self.settings.choices,
            "names": sorted(self._settled_names()),
            "language": self.language,
            "kinds": added.kinds,
            "languages": added.languages,
            "stemmers": whole.languages,
            "lengths": whole.lengths,
            "fields": whole.fields,
            "synonyms": synonyms.found(),
        }
        numbers = {row.docid: number for number, row in enumerate(rows, 1)}
        return write_tables({
            "documents": (row.values() for row in rows),
            "said": self._said.items(),
            "passages": ((ident, numbers[docid]) for ident, docid in self._passages),
            "titles": added.titles.items(),
            "stems": ((stem, stems.counts[stem], stems.form(stem)) for stem in stems.sorted),
            "words": (
                (initial, length, number, *one)
                for (initial, length), many in stems.words.items()
                for number, one in enumerate(many)
            ),
            "whole": ((name, as_json(value)) for name, value in values.items()),
        })  # fmt: skip

    def _others(self, names: Set[str]) -> set[str]:
        """Return those of some names that texts have as other words; see `words_said`. Raise _NotKnownError."""
        if self.names is None:
            self.names = frozenset(names)
        if not names <= self.names:
            raise _NotKnownError
        self._settled_names()
        return set[str]().union(*map(json.loads, self._said.values())).intersection(names)

    def _settled_names(self) -> Set[str]:
        """Return the names of which it is known of all documents whether they have them."""
        names = self.names or frozenset()
        for document in self._new:
            self._said.setdefault(document.section.docid, as_json(document.said(names)))
        return names


@dataclass
class _Added:
    """What documents, in their order, add to a material; see `Material`."""

    kinds: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    titles: dict[str, str] = field(default_factory=dict)

    def add(self, one: Mapping[str, Any]) -> None:
        self.kinds.update(one["kinds"])
        self.languages.update(one["languages"])
        self.titles.update(one["titles"])

    @property
    def language(self) -> str:
        return Material(languages=self.languages).language
