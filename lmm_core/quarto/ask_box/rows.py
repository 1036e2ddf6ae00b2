"""The rows of an ask box's data: the sections of the documents that it covers. Those of unchanged documents on
unchanged pages are remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ...logging import ListLogger, LoggerBase, Report, in_file
from ...markdown.blocks import header_content
from ...markdown.files import MarkdownFile, read_markdown
from ...markdown.parse import parse_markdown_text
from ...retrieve.items import DEFINITION, kind_of, lead_of, without_fences
from ...retrieve.passages import Passage, Section
from ...retrieve.ranking.lexical import emphasised
from ...settings.project import Project
from ...settings.quarto_project import active_profiles, rules_finder, settings_finder
from ...study.outline import reading_minutes
from ...workflows.known.remember import digest, remembered
from .material import SitePage, read_material, source_of
from .page_html import PageText
from .plain_text import in_unicode, plain_line, plain_text, with_formulas


@dataclass
class Rows:
    """The documents and sections of an ask box. A document's row: page, source. A section's: see `section_rows`.
    kinds: the number of passages of each type."""

    documents: list[list[str]] = field(default_factory=list)
    sections: list[list[Any]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, page: str, source: str, documents: Sequence[list[list[Any]]], kinds: Mapping[str, int]) -> None:
        """Add the documents of a source, each as its sections."""
        for sections in documents:
            self.sections += [[len(self.documents), *row[1:]] for row in sections]
            self.documents.append([page, source])
        self.kinds.update(kinds)


def read_rows(
    pages: Sequence[SitePage],
    shown: Mapping[str, PageText],
    project: Project,
    settings: Mapping[str, Any],
    logger: LoggerBase,
) -> Rows:
    """Return the rows of some pages. shown: what the site's pages have, by their names; settings: those of
    `_quarto.yml`. Raise OSError, MarkdownError, QuartoError and ConfigError."""
    made = Rows()
    files = [page.file or read_markdown(page.source) for page in pages]

    def read(at: int) -> dict[str, Any]:
        return _read(pages[at], files[at].text, shown[pages[at].page], project, settings)

    key_of = _key_finder(project, settings)
    things = [
        (key_of(page, file, shown[page.page]), at) for at, (page, file) in enumerate(zip(pages, files, strict=True))
    ]
    found_in = remembered("ask rows", digest(project), things, read, effort=10)
    for page, found in zip(pages, found_in, strict=True):
        for report in found["reports"]:
            in_file(logger, page.source).report(Report(**report))
        made.add(page.page, source_of(page, project), found["documents"], found["kinds"])
    return made


def _key_finder(project: Project, settings: Mapping[str, Any]) -> Callable[[SitePage, MarkdownFile, PageText], bytes]:
    """Return a function that gives all that a document's rows depend on, beside the project."""
    settings_of, rules_of, rules_key = settings_finder(settings), rules_finder(project.rules), cache(digest)
    profiles = active_profiles()

    def find(page: SitePage, file: MarkdownFile, shown: PageText) -> bytes:
        header = header_content(parse_markdown_text(file.text)) if b"metadata-files" in file.data else {}
        own = settings_of(page.source, header), rules_key(rules_of(page.source, header))
        beside = (str(page.source), page.page, page.is_included, profiles, own, sorted(shown.ids), shown.words)
        return repr(beside).encode("utf-8", "surrogatepass") + file.data

    return find


def _read(page: SitePage, text: str, shown: PageText, project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a document, with what is to be reported of it, as JSON values."""
    kept = ListLogger()
    material = read_material(page, text, project, settings, kept)
    documents = [[*section_rows(document, shown)] for document in material.documents]
    return {"documents": documents, "kinds": material.kinds, "reports": [asdict(report) for report in kept.reports]}


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
