"""The rows of an ask box's data: the sections of the documents that it covers. Those of unchanged documents on
unchanged pages are remembered, as the JSON that goes into the data, which is not read for that."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ...files.walk import name_finder
from ...index.passages import Passage, Section
from ...index.statistics import emphasised
from ...logging import ListLogger, LoggerBase, Report, in_file
from ...markdown.blocks import header_content
from ...markdown.files import MarkdownFile, read_markdown
from ...markdown.parse import parse_markdown_text
from ...retrieve.items import DEFINITION, kind_of, lead_of, without_fences
from ...settings.project import Project
from ...settings.quarto_project import active_profiles, rules_finder, settings_finder
from ...study.outline import reading_minutes
from ...workflows.known.cache import Known
from ...workflows.known.keys import HASH, key_of
from ...workflows.known.remember import digest, remembered
from .material import SitePage, read_material
from .page_html import PageText
from .plain_text import in_unicode, plain_line, plain_text, with_formulas
from .word_index import Title, types_in

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass
class SourceRows:
    """The rows of a source. sizes: the number of sections of each of its documents; hashes: of the rows of each of
    them; titles: depth and title of each section; texts: the row of each section (see `section_rows`) without its first
    field, as JSON on a line; types: those of passages in the rows; kinds: the number of passages of each type, of those
    left out, too; reports: what is to be reported of the source."""

    sizes: list[int]
    hashes: list[str]
    titles: list[Title]
    texts: list[bytes]
    types: list[str]
    kinds: Mapping[str, int] = field(default_factory=dict)
    reports: list[dict[str, Any]] = field(default_factory=list)

    def packed(self) -> bytes:
        """Return all of it as bytes."""
        about = {name: value for name, value in vars(self).items() if name != "texts"}
        return b"\n".join([data_json(about), *self.texts])


def rows_of(documents: Sequence[Sequence[list[Any]]]) -> SourceRows:
    """Return the rows of documents, of which each is given as its sections."""
    rows = [row for sections in documents for row in sections]
    titles = [(row[1], row[2]) for row in rows]
    texts = [[data_json(row[1:]) for row in sections] for sections in documents]
    hashes = [_hash(one) if one else "" for one in texts]
    return SourceRows([*map(len, documents)], hashes, titles, [*chain.from_iterable(texts)], types_in(rows))


def _hash(texts: Sequence[bytes]) -> str:
    """Return the hash of rows: of nothing else, since it goes into the pages."""
    return hashlib.blake2b(b"\n".join(texts), digest_size=HASH).hexdigest()


def unpacked(packed: bytes) -> SourceRows:
    """Return the rows that were packed."""
    about, *texts = packed.split(b"\n")
    return SourceRows(texts=texts, **json.loads(about))


def data_json(value: Any) -> bytes:
    """Return a value as compact JSON in UTF-8, on one line."""
    return _ENCODER.encode(value).encode("utf-8", "replace")  # half of a surrogate pair cannot be


@dataclass
class Rows:
    """The rows of an ask box. documents: page and source of each; numbers: the number of each section's document; the
    rest as in `SourceRows`."""

    documents: list[list[str]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    titles: list[Title] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    types: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, page: str, source: str, found: SourceRows) -> None:
        """Add the rows of a source."""
        for size in found.sizes:
            self.numbers += [len(self.documents)] * size
            self.documents.append([page, source])
        self.hashes += found.hashes
        self.titles += found.titles
        self.texts += found.texts
        self.types.update(found.types)
        self.kinds.update(found.kinds)

    def sections(self, start: int = 0, end: int | None = None) -> list[list[Any]]:
        """Return the rows of some consecutive sections, or of all."""
        numbered = zip(self.numbers[start:end], self.texts[start:end], strict=True)
        return [[number, *json.loads(text)] for number, text in numbered]


def read_rows(
    pages: Sequence[SitePage],
    shown: Mapping[str, PageText],
    project: Project,
    settings: Mapping[str, Any],
    logger: LoggerBase,
    known: Known | None = None,
) -> Rows:
    """Return the rows of some pages. shown: what the site's pages have, by their names; settings: those of
    `_quarto.yml`; known: see `remembered`. Raise OSError, MarkdownError, QuartoError and ConfigError."""
    made = Rows()
    files = [page.file or read_markdown(page.source) for page in pages]

    def read(at: int) -> bytes:
        return _read(pages[at], files[at].text, shown[pages[at].page], project, settings).packed()

    key_at, source_of = _key_finder(project, settings), name_finder(project.root)
    things = [
        (key_at(page, file, shown[page.page]), at) for at, (page, file) in enumerate(zip(pages, files, strict=True))
    ]
    packed = remembered("ask rows", digest(project), things, read, 10, lambda at: len(files[at].data), known)
    for page, found in zip(pages, map(unpacked, packed), strict=True):
        for report in found.reports:
            in_file(logger, page.source).report(Report(**report))
        made.add(page.page, source_of(page.source), found)
    return made


def _key_finder(project: Project, settings: Mapping[str, Any]) -> Callable[[SitePage, MarkdownFile, PageText], bytes]:
    """Return a function that gives all that a document's rows depend on, beside the project."""
    settings_of, rules_of = settings_finder(settings), rules_finder(project.rules)
    profiles = active_profiles()

    def settings_at(path: Path, header: Mapping[str, Any]) -> str:
        return repr((profiles, settings_of(path, header), digest(rules_of(path, header))))

    in_folder = cache(lambda folder: settings_at(folder / "-", {}))

    def find(page: SitePage, file: MarkdownFile, shown: PageText) -> bytes:
        if b"metadata-file" in file.data:  # `metadata-files`, too
            own = settings_at(page.source, header_content(parse_markdown_text(file.text)))
        else:
            own = in_folder(page.source.parent)
        beside = [repr((str(page.source), page.page, page.is_included)), own, shown.said]
        return key_of("ask row", *(one.encode("utf-8", "surrogatepass") for one in beside), file.data)

    return find


def _read(page: SitePage, text: str, shown: PageText, project: Project, settings: Mapping[str, Any]) -> SourceRows:
    """Return the rows of a document."""
    kept = ListLogger()
    material = read_material(page, text, project, settings, kept)
    rows = rows_of([[*section_rows(document, shown)] for document in material.documents])
    rows.kinds, rows.reports = material.kinds, [asdict(report) for report in kept.reports]
    return rows


def section_rows(document: Section, page: PageText) -> Iterator[list[Any]]:
    """Yield the sections of a document, as rows: number of the document, depth, title, identifier in the page,
    minutes of reading, summary, questions, passages."""
    for section in document.walk():
        title = plain_line(section.titles[-1]) if section.titles else ""
        minutes = round(reading_minutes(section.passages), 1)
        passages = [row for passage in section.passages if (row := _passage(passage, page.words))]
        questions = list(map(with_formulas, section.questions))
        summary = plain_text(section.summary, page.words)
        yield [0, section.depth, title, _existing(section, page.ids), minutes, summary, questions, passages]


def _existing(section: Section, ids: frozenset[str]) -> str:
    """Return the section's identifier if the page has it, else that of the nearest section around
    it, or "" for the page as a whole."""
    found: Section | None = section
    while found is not None:
        if found.anchor and found.anchor in ids:
            return found.anchor
        found = found.parent
    return ""


def _passage(passage: Passage, words: Mapping[str, str]) -> Any:
    """Return a passage as its text, or, if it has more, as a list of its text, its type, the term of a
    definition, and the words that it emphasises; what is empty at the end is left out."""
    text, kind = plain_text(passage.text, words), kind_of(passage)
    term = plain_line(lead_of(without_fences(passage.text))) if kind == DEFINITION else ""
    row = [text, kind, term, in_unicode(plain_text(" ".join(emphasised(passage.text)), words)) if text else ""]
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row if len(row) > 1 else text
