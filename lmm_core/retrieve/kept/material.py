"""A material that is kept in tables: each document is read when it is asked for, and stays."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from ...index.passages import Key, Material, Passage, Section
from .rows import Document, read_document
from .tables import Tables


class KeptMaterial(Material):
    """A material in tables. It is the same as one that is made of all points."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._rows = tables.rows("SELECT docid, source, sections, passages FROM documents ORDER BY rowid")
        self._read: dict[int, Document] = {}
        self._reading = threading.Lock()
        kinds, languages = Counter(tables.whole("kinds")), Counter(tables.whole("languages"))
        super().__init__(_Documents(self), _Sections(self), _Passages(self), kinds, languages)

    @property
    def sources(self) -> list[str]:
        """See `Material`."""
        return [source for _, source, _, _ in self._rows]

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """See `Material`."""
        return {docid: at for at, (docid, *_) in enumerate(self._rows)}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """See `Material`."""
        return _Titles(self._tables)

    def document(self, at: int) -> Document:
        """Return a document by its place among all: the same one each time."""
        with self._reading:
            if at not in self._read:
                found = self._tables.first("SELECT content FROM documents WHERE rowid = ?", at + 1)
                self._read[at] = read_document(self._rows[at][0], found[0])
            return self._read[at]

    def every(self) -> Iterator[Document]:
        """Yield all documents in their order."""
        return map(self.document, range(len(self._rows)))

    def sizes(self) -> tuple[int, int, int]:
        """Return the numbers of documents, sections and passages."""
        return len(self._rows), sum(row[2] for row in self._rows), sum(row[3] for row in self._rows)

    def document_of(self, ident: str) -> Document | None:
        """Return the document that a passage is in, or None for one that is not known."""
        found = self._tables.first("SELECT document FROM passages WHERE id = ?", ident)
        return self.document(found[0] - 1) if found else None


class _Documents(Sequence[Section]):
    def __init__(self, material: KeptMaterial) -> None:
        self._material = material

    def __len__(self) -> int:
        return self._material.sizes()[0]

    @overload
    def __getitem__(self, at: int) -> Section: ...
    @overload
    def __getitem__(self, at: slice) -> list[Section]: ...
    def __getitem__(self, at: int | slice) -> Section | list[Section]:
        places = range(len(self))[at]
        if isinstance(places, int):
            return self._material.document(places).section
        return [self._material.document(one).section for one in places]


class _Sections(Mapping[Key, Section]):
    def __init__(self, material: KeptMaterial) -> None:
        self._material = material

    def __getitem__(self, key: Key) -> Section:
        return self._material.document(self._material.ranks[key[0]]).sections[key]

    def __iter__(self) -> Iterator[Key]:
        return (key for document in self._material.every() for key in document.sections)

    def __len__(self) -> int:
        return self._material.sizes()[1]


class _Passages(Mapping[str, Passage]):
    def __init__(self, material: KeptMaterial) -> None:
        self._material = material

    def __getitem__(self, ident: str) -> Passage:
        if (document := self._material.document_of(ident)) is None:
            raise KeyError(ident)
        return document.passages[ident]

    def __iter__(self) -> Iterator[str]:
        return (ident for document in self._material.every() for ident in document.passages)

    def __len__(self) -> int:
        return self._material.sizes()[2]


class _Titles(Mapping[str, str]):
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, anchor: str) -> str:
        if (found := self._tables.first("SELECT title FROM titles WHERE anchor = ?", anchor)) is None:
            raise KeyError(anchor)
        return str(found[0])

    def __iter__(self) -> Iterator[str]:
        return (anchor for (anchor,) in self._tables.rows("SELECT anchor FROM titles"))

    def __len__(self) -> int:
        return int(self._tables.first("SELECT COUNT(*) FROM titles")[0])
