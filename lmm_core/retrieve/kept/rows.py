"""A document in a row of the tables: all that is known of it alone, so that it can be used again beside others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from ...index.passages import Key, Material, Passage, Section
from ...models.languages.stemming import Stemmers
from ..ranking.counting import DocumentCounts, count_document
from ..ranking.synonyms import words_said
from .tables import pack, unpack

OF_SECTIONS = ("source", "path", "titles", "anchor", "depth", "line_start", "line_end", "summary", "questions",
               "language")  # fmt: skip
_passage_row = attrgetter(*(one.name for one in fields(Passage)))
_section_row = attrgetter(*OF_SECTIONS)


@dataclass(frozen=True, slots=True)
class Document:
    """A document with all sections and passages in it, in their order."""

    section: Section
    sections: Mapping[Key, Section]
    passages: Mapping[str, Passage]

    def said(self, names: Set[str]) -> list[str]:
        """Return those of some names that its texts have as other words; see `words_said`."""
        texts = (passage.text for section in self.section.walk() for passage in section.passages)
        return sorted(words_said(texts, names))


@dataclass(frozen=True, slots=True)
class Row:
    """A document as it is written, with its sizes; what is of bytes is packed.

    content: its sections and passages; stems, words: see `DocumentCounts`; added: what else it adds to a material."""

    docid: str
    source: str
    sections: int
    passages: int
    texts: int
    content: bytes
    stems: bytes
    words: bytes
    added: bytes

    def values(self) -> tuple[Any, ...]:
        """Return the values in the order of the columns."""
        return _row_values(self)

    def counts(self, added: Mapping[str, Any]) -> DocumentCounts:
        """Return what was counted of its words. added: see `what_is_added`."""
        return DocumentCounts(
            self.texts,
            Counter(unpack(self.stems)),
            Counter(added["lengths"]),
            Counter(added["fields"]),
            {language: dict.fromkeys(words.split()) for language, words in unpack(self.words).items()},
            [(one, other) for one, other in added["pairs"]],
        )

    def what_is_added(self) -> Any:
        """Return what it adds to a material."""
        return unpack(self.added)


_row_values = attrgetter(*(one.name for one in fields(Row)))


def documents_in(material: Material) -> Iterator[Document]:
    """Yield the documents of a material, in their order."""
    passages: dict[str, dict[str, Passage]] = {}
    for one in material.passages.values():
        passages.setdefault(one.docid, {})[one.id] = one
    sections: dict[str, dict[Key, Section]] = {}
    for section in material.sections.values():
        sections.setdefault(section.docid, {})[section.key] = section
    for document in material.documents:
        yield Document(document, sections[document.docid], passages[document.docid])


def make_row(document: Document, stemmers: Stemmers) -> Row:
    """Return a document as a row. Its words are counted."""
    counts = count_document(document.section, stemmers)
    sections, passages = list(document.sections.values()), list(document.passages.values())
    notes = [passage for section in sections for passage in section.passages]
    added = {
        "lengths": counts.lengths,
        "fields": counts.fields,
        "pairs": counts.pairs,
        "kinds": Counter(kind for one in passages for kind in one.kinds),
        "languages": Counter(one.language for one in notes if one.language),
        "titles": {one.anchor: one.titles[-1] for one in document.section.walk() if one.anchor and one.titles},
    }
    words = {language: " ".join(known) for language, known in counts.words.items()}
    return Row(
        document.section.docid, document.section.source, len(sections), len(passages), counts.texts,
        pack(_content(sections, passages)), pack(counts.stems), pack(words), pack(added),
    )  # fmt: skip


def _content(sections: Sequence[Section], passages: Sequence[Passage]) -> dict[str, Any]:
    """Return a document as it is packed: each section with the number of that around it, each passage with that of
    its section; -1 for none."""
    numbers = {id(section): number for number, section in enumerate(sections)}
    places = {one.id: number for number, section in enumerate(sections) for one in section.passages}
    return {
        "sections": [[numbers.get(id(one.parent), -1), *_section_row(one)] for one in sections],
        "passages": [[places.get(one.id, -1), *_passage_row(one)] for one in passages],
    }


def read_document(docid: str, content: bytes) -> Document:
    """Return the document that was packed."""
    read = unpack(content)
    sections: list[Section] = []
    for around, *row in read["sections"]:
        said = dict(zip(OF_SECTIONS, row, strict=True))
        parent = sections[around] if around >= 0 else None
        section = Section(docid=docid, parent=parent, **said | {"titles": tuple(said["titles"])})
        if parent is not None:
            parent.children.append(section)
        sections.append(section)
    passages: dict[str, Passage] = {}
    for place, *row in read["passages"]:
        values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in row]
        passage = passages[row[0]] = Passage(*values)
        if place >= 0:
            sections[place].passages.append(passage)
    return Document(sections[0], {one.key: one for one in sections}, passages)
