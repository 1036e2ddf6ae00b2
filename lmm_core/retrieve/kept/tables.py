"""The tables in which a material and its words are kept, as bytes."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from ..passages import Material, Passage, Section
from ..ranking.lexical import Counts, LexicalIndex
from ..ranking.words import CountedStems

_SCHEMA = """
CREATE TABLE documents (docid TEXT, source TEXT, texts INTEGER, sections INTEGER, passages INTEGER, content BLOB,
    stems BLOB);  -- numbered from 1, in their order
CREATE TABLE passages (id TEXT PRIMARY KEY, document INTEGER) WITHOUT ROWID;
CREATE TABLE titles (anchor TEXT PRIMARY KEY, title TEXT) WITHOUT ROWID;
CREATE TABLE stems (stem TEXT PRIMARY KEY, count INTEGER, form TEXT) WITHOUT ROWID;
CREATE TABLE words (initial TEXT, length INTEGER, number INTEGER, word TEXT, stem TEXT,
    PRIMARY KEY (initial, length, number)) WITHOUT ROWID;
CREATE TABLE whole (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
OF_SECTIONS = ("source", "path", "titles", "anchor", "depth", "line_start", "line_end", "summary", "questions",
               "language")  # fmt: skip
_passage_row = attrgetter(*(one.name for one in fields(Passage)))
_section_row = attrgetter(*OF_SECTIONS)


class Tables:
    """The tables, which several threads may read."""

    def __init__(self, data: bytes) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._connection.deserialize(data)
        self._alone = threading.Lock()

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows that an SQL statement selects."""
        with self._alone:
            return self._connection.execute(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Any:
        """Return the first row that an SQL statement selects, or None."""
        with self._alone:
            return self._connection.execute(statement, values).fetchone()

    def whole(self, name: str) -> Any:
        """Return a value that was written for the whole material."""
        return json.loads(self.first("SELECT value FROM whole WHERE name = ?", name)[0])


def make_tables(lexical: LexicalIndex, stems: CountedStems) -> bytes:
    """Return the tables of a material and its words, which have been counted now."""
    material, counts = lexical.material, lexical.counts
    connection = sqlite3.connect(":memory:")
    connection.executescript(_SCHEMA)
    for table, rows in _tables(material, counts, stems, list(lexical.stemmers.languages)).items():
        written = iter(rows)
        if (first := next(written, None)) is not None:
            statement = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"
            connection.execute(statement, first)
            connection.executemany(statement, written)
    connection.commit()
    try:
        return connection.serialize()
    finally:
        connection.close()


def _tables(
    material: Material, counts: Counts, stems: CountedStems, languages: list[str]
) -> dict[str, Iterable[tuple[Any, ...]]]:
    whole = {
        "kinds": material.kinds,
        "languages": material.languages,
        "stemmers": languages,
        "lengths": counts.lengths,
        "texts": counts.texts,
        "synonyms": counts.synonyms.found(),
    }
    words = (
        (initial, length, number, *one)
        for (initial, length), many in stems.words.items()
        for number, one in enumerate(many)
    )
    return {
        "documents": _documents(material, counts),
        "passages": ((one.id, 1 + material.ranks[one.docid]) for one in material.passages.values()),
        "titles": material.titles.items(),
        "stems": ((stem, stems.counts[stem], stems.form(stem)) for stem in stems.sorted),
        "words": words,
        "whole": ((name, json.dumps(value, ensure_ascii=False)) for name, value in whole.items()),
    }


def _documents(material: Material, counts: Counts) -> Iterator[tuple[Any, ...]]:
    passages: dict[str, list[Passage]] = {}
    for one in material.passages.values():
        passages.setdefault(one.docid, []).append(one)
    sections: dict[str, list[Section]] = {}
    for section in material.sections.values():
        sections.setdefault(section.docid, []).append(section)
    for document in material.documents:
        docid = document.docid
        content = _content(sections[docid], passages[docid])
        yield (
            docid, document.source, counts.texts_in[docid], len(sections[docid]), len(passages[docid]), pack(content),
            pack(counts.stems_in[docid]),
        )  # fmt: skip


def _content(sections: list[Section], passages: list[Passage]) -> dict[str, Any]:
    """Return a document as it is packed: each section with the number of that around it, each passage with that of
    its section; -1 for none."""
    numbers: Mapping[int, int] = {id(section): number for number, section in enumerate(sections)}
    places = {one.id: number for number, section in enumerate(sections) for one in section.passages}
    return {
        "sections": [[numbers.get(id(one.parent), -1), *_section_row(one)] for one in sections],
        "passages": [[places.get(one.id, -1), *_passage_row(one)] for one in passages],
    }


def pack(value: Any) -> bytes:
    """Return a value of JSON in few bytes."""
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def unpack(data: bytes) -> Any:
    """Return what was packed."""
    return json.loads(zlib.decompress(data))
