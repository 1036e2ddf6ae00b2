"""Read a collection as passages in sections, in document order, without files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from posixpath import commonpath
from typing import Any

from ..files.walk import reading_key
from ..logging import counted
from ..store.vector_store import ScoredPoint

SUMMARY = "summary"  # a chunk type
PAGE = "page"  # in the imported file
Key = tuple[str, str]  # docid and section path
_BETWEEN = re.compile(r"(?<=[?？;؟]) +(?=\S)")


class Placed:
    """Text with a place in the notes."""

    __slots__ = ()
    docid: str
    source: str
    anchor: str
    path: str
    line_start: int
    line_end: int

    @property
    def address(self) -> str:
        """The address as `file#anchor`, or the document's file."""
        return f"{self.source}#{self.anchor}" if self.anchor else self.source

    @property
    def key(self) -> Key:
        """The document and section, unique in a collection."""
        return self.docid, self.path

    @property
    def name(self) -> str:
        """The section's display name: `document#1.2`, or `document`."""
        return f"{self.docid}#{self.path}" if self.path else self.docid

    @property
    def place(self) -> str:
        """The place as `file:line-line`."""
        return place(self.source, self.line_start, self.line_end)


@dataclass(frozen=True, slots=True)
class Passage(Placed):
    """An indexed chunk.

    path: section number (`1.2`, "" before the first heading)
    lines: from 1, end included; repeated: additional lines before, such as a table head
    language: code, or ""; score: in a search, or 0; page: in the imported file, or 0"""

    id: str
    text: str
    types: tuple[str, ...]
    docid: str
    source: str
    titles: tuple[str, ...]
    path: str
    anchor: str
    depth: int
    line_start: int
    line_end: int
    sequence: int
    questions: tuple[str, ...] = ()
    score: float = 0.0
    language: str = ""
    repeated: int = 0
    page: int = 0

    def scored(self, score: float) -> Passage:
        return replace(self, score=score)


@dataclass(slots=True)
class Section(Placed):
    """A heading with everything under it.

    path: "" for a document, which begins with the text before its first heading
    passages: without summary and subsections
    titles: the path, its own included; questions: annotated for it alone"""

    docid: str
    source: str
    path: str
    titles: tuple[str, ...]
    anchor: str
    depth: int
    line_start: int
    line_end: int
    summary: str = ""
    questions: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    parent: Section | None = None
    language: str = ""
    children: list[Section] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its title, or the file's name."""
        return self.titles[-1] if self.titles else self.source

    @property
    def page(self) -> int:
        """The page of its first text (see `Passage`), or 0."""
        return self.passages[0].page if self.passages else 0

    @property
    def gist(self) -> str:
        """Its summary, or the only subsection's if it has no other text."""
        section = self
        while not section.summary and not section.passages and len(section.children) == 1:
            (section,) = section.children
        return section.summary

    def walk(self) -> Iterator[Section]:
        yield self
        for child in self.children:
            yield from child.walk()

    def all_passages(self) -> list[Passage]:
        return [passage for section in self.walk() for passage in section.passages]


@dataclass(repr=False)  # asyncio logs the repr of results, which would take half a minute
class Material:
    """The contents of a collection.

    types, languages: numbers of passages; system: the teacher's style of answers"""

    documents: list[Section] = field(default_factory=list)
    sections: dict[Key, Section] = field(default_factory=dict)
    passages: dict[str, Passage] = field(default_factory=dict)
    types: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    system: str = ""

    @property
    def size(self) -> str:
        """The numbers of documents and sections, in words."""
        return f"{counted(len(self.documents), 'document')}, {counted(len(self.sections), 'section')}"

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The position of each document, by docid."""
        return {document.docid: at for at, document in enumerate(self.documents)}

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Section titles by anchor."""
        return {section.anchor: section.titles[-1] for section in self.walk() if section.anchor and section.titles}

    def walk(self) -> Iterator[Section]:
        for document in self.documents:
            yield from document.walk()

    def find_section(self, name: str) -> Section | None:
        docid, _, path = name.rpartition("#")
        return self.sections.get((docid, path)) or self.sections.get((name, ""))

    def around(self, section: Section) -> tuple[Section | None, Section | None]:
        """Return the previous and next section on the same level, or None."""
        siblings = section.parent.children if section.parent else self.documents
        at = next(number for number, sibling in enumerate(siblings) if sibling is section)
        before = siblings[at - 1] if at else None
        return before, siblings[at + 1] if at + 1 < len(siblings) else None


def page_in(properties: Mapping[str, Any]) -> int:
    """Return the page of the imported file in metadata or a payload, or 0."""
    page = properties.get(PAGE)
    return max(page, 0) if isinstance(page, int) and not isinstance(page, bool) else 0


def place(source: str, start: int, end: int) -> str:
    """Return `file:line-line`, or `file:line` for one line."""
    return f"{source}:{start}" if start == end else f"{source}:{start}-{end}"


def read_passage(point: ScoredPoint) -> Passage:
    """Return the passage in a collection's point."""
    payload = point.payload
    start = int(payload.get("line_start") or 1)
    return Passage(
        id=point.id,
        text=str(payload.get("page_content", "")),
        types=_texts(payload.get("type")),
        docid=str(payload.get("docid", "")),
        source=str(payload.get("source", "")),
        titles=_texts(payload.get("titles")),
        path=str(payload.get("parent") or ""),
        anchor=str(payload.get("anchor") or ""),
        depth=int(payload.get("depth") or 0),
        line_start=start,
        line_end=int(payload.get("line_end") or start),
        sequence=int(payload.get("sequence") or 0),
        questions=_texts(payload.get("questions")),
        score=point.score,
        language=str(payload.get("language") or ""),
        repeated=int(payload.get("repeated") or 0),
        page=page_in(payload),
    )


def build_material(points: Iterable[ScoredPoint], order: Sequence[str] = ()) -> Material:
    """Build the material from points. order: sources in reading order; others follow by `reading_key`."""
    ranks = {source: rank for rank, source in enumerate(order)}

    def place(passage: Passage) -> tuple[Any, ...]:
        return ranks.get(passage.source, len(ranks)), reading_key(passage.source), passage.docid, passage.sequence

    rows = [  # payloads take twice the memory
        (read_passage(point), _texts(point.payload.get("section_path")), _texts(point.payload.get("anchors")))
        for point in points
    ]
    rows.sort(key=lambda row: place(row[0]))
    material = Material()
    for passage, paths, anchors in rows:
        section = _section_for(material, passage, ["", *paths], ["", *anchors])
        material.passages[passage.id] = passage
        material.types.update(passage.types)
        if SUMMARY in passage.types:
            section.summary = passage.text
        else:
            section.passages.append(passage)
            material.languages.update(filter(None, [passage.language]))
    _give_questions(material)
    return material


def _give_questions(material: Material) -> None:
    """Assign each question to the smallest section with it in all passages."""
    paths: dict[tuple[str, str], list[str]] = {}
    for passage in material.passages.values():
        for text in passage.questions:
            for question in split_questions(text):
                paths.setdefault((passage.docid, question), []).append(passage.path)
    for (docid, question), paths_of_question in paths.items():
        common = commonpath([path.replace(".", "/") for path in paths_of_question]).replace("/", ".")
        material.sections[docid, common].questions.append(question)


def _section_for(material: Material, passage: Passage, paths: Sequence[str], anchors: Sequence[str]) -> Section:
    """Return a passage's section, created with its ancestors if missing; all are extended to its lines."""
    above = max(len(passage.titles) - len(paths) + 1, 0)  # number of titles of the document itself
    parent: Section | None = None
    for depth, path in enumerate(paths):
        key = (passage.docid, path)
        section = material.sections.get(key)
        if section is None:
            titles = passage.titles[: above + depth]
            anchor = anchors[depth] if depth < len(anchors) else ""
            section = Section(
                passage.docid, passage.source, path, titles, anchor, depth, passage.line_start, passage.line_end,
                parent=parent, language=passage.language,
            )  # fmt: skip
            (parent.children if parent else material.documents).append(section)
            material.sections[key] = section
        section.line_start = min(section.line_start, passage.line_start)
        section.line_end = max(section.line_end, passage.line_end)
        parent = section
    assert parent is not None
    return parent


def split_questions(text: str) -> list[str]:
    """Return the questions in a text, with character references replaced first, because they end in `;`, too."""
    if "&" in text:
        import html  # slow import: loads the names of all characters

        text = html.unescape(text)
    return [part for part in _BETWEEN.split(" ".join(text.split())) if part]


def _texts(value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    return tuple(line for line in str(value).split("\n") if line.strip())


# Merge consecutive passages

SHORTEST_OVERLAP = 8  # characters; shorter matches are chance


def merge(passages: Sequence[Passage]) -> str:
    """Join consecutive passages without repeated text."""
    text, last = "", 0
    for passage in passages:
        if size := repeated(text, last, passage):
            text = text.rstrip() + passage.text[size:]
        elif text:
            gap = passage.line_start - last
            text += (" " if gap <= 0 else "\n" if gap == 1 else "\n\n") + passage.text
        else:
            text = passage.text
        last = passage.line_end
    return text


def repeated(before: str, last: int, passage: Passage) -> int:
    """Return the length of an overlap or a repeated table head at a passage's start. last: line where `before` ends."""
    is_longer = passage.text.count("\n") > passage.line_end - passage.line_start
    if passage.line_start > last and not is_longer:
        return 0
    return _overlap(before, passage) or _table_header(before, passage)


def _overlap(before: str, passage: Passage) -> int:
    before, text = before.rstrip(), passage.text
    start = text[:SHORTEST_OVERLAP]
    at = before.find(start, max(0, len(before) - len(text))) if len(start) == SHORTEST_OVERLAP else -1
    while at >= 0:
        if text.startswith(before[at:]) and (at == 0 or before[at - 1].isspace()):
            return len(before) - at
        at = before.find(start, at + 1)
    return 0


def _table_header(before: str, passage: Passage) -> int:
    lines = passage.text.split("\n")
    header = "\n".join(lines[: max(0, len(lines) - (passage.line_end - passage.line_start + 1))])
    return len(header) if header.startswith(("|", "+-")) and header in before else 0
