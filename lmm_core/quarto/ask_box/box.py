"""Write an ask box into a rendered site, or remove it."""

from __future__ import annotations

import html
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...files.marked import check_inside, is_link, is_ours, make_marked, remove_marked, write_own
from ...files.walk import name_from
from ...indexing.passages import Passage, Section
from ...indexing.statistics import emphasised
from ...logging import LoggerBase, in_file
from ...markdown.files import read_markdown
from ...models.embedders.bm25 import USUAL_LANGUAGE
from ...models.languages.asking import ASKING
from ...models.languages.recognize import main_language
from ...models.languages.stemming import SPELLINGS, Stemmer, language_code, stop_words
from ...models.languages.words import find_words, fold
from ...retrieve.items import DEFINITION, lead_of, type_of, without_fences
from ...retrieve.plain_text import in_unicode, link_labels, plain_line, plain_text
from ...retrieve.ranking.lexical import fields_left_out, weights_data
from ...retrieve.ranking.synonyms import Synonymous, Synonyms
from ...retrieve.ranking.words import words_data
from ...settings.project import Project
from ...study.outline import reading_minutes
from ..extension import box_files
from ..html import element_text, parse_html
from ..options import ASK_FOLDER, AskBoxSettings
from .material import SitePage, read_material

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode


BOX = "ask-box"  # marks the folder as ours
DATA = "data.js"
BOX_TAG = "data-lmm-ask"  # attribute that identifies the box's script tag
_TAG = re.compile(rf"[ \t]*<script\b[^<>]*\b{BOX_TAG}\b[^<>]*></script>\n?", re.I)
_HEAD_END = re.compile(r"[ \t]*</head\s*>", re.I)


def write_box(
    output: Path,
    pages: Sequence[SitePage],
    project: Project,
    ask: AskBoxSettings,
    logger: LoggerBase,
    more: Sequence[str] = (),
) -> BoxRows:
    """Write an ask box, its data, and its tag in the pages; return the data.

    project: with its `_quarto.yml`
    more: further pages
    Raise OSError, MarkdownError, ConfigError, and FolderError for a foreign folder or page."""
    places = {name: output / name for name in [*(page.page for page in pages), *more] if (output / name).is_file()}
    for place in (output / ASK_FOLDER, *places.values()):
        check_inside(output, place)
    texts = {name: read_page(_text(place)) for name, place in places.items()}
    rules = replace(project.rules, keep=project.rules.keep | ask.include)
    present_pages = [page for page in pages if page.page in places]
    rows = read_rows(present_pages, texts, replace(project, rules=rules), logger)
    left_out = fields_left_out(project.embeddings)
    language = str(project.quarto.get("lang") or main_language(rows.languages))
    data = box_script(rows, language, project.synonyms, left_out)
    make_marked(output / ASK_FOLDER, BOX)
    files = {DATA: data, **box_files()}
    for name, content in files.items():
        _write(output / ASK_FOLDER / name, content)
    for path in (output / ASK_FOLDER).glob("*.js"):
        if path.name not in files:
            path.unlink()
    for name, place in places.items():
        _put_tag(place, name, ask)
    return rows


def remove_box(output: Path) -> None:
    """Remove the ask box of a site. Raise OSError, and FolderError for a foreign folder."""
    folder = output / ASK_FOLDER
    check_inside(output, folder)
    if not is_ours(folder, BOX):
        return
    for path in output.rglob("*.html"):
        if is_link(path) or not path.is_file():  # we never write through links
            continue
        _write(path, _bytes(_without_tag(_text(path))))
    remove_marked(folder, BOX)


def _put_tag(place: Path, page: str, ask: AskBoxSettings) -> None:
    up = "../" * page.count("/") + ASK_FOLDER
    values = {"page": page} | ({"server": ask.server} if ask.server else {})
    attributes = "".join(f' data-{key}="{html.escape(value)}"' for key, value in values.items())
    tag = f'<script async src="{up}/ask.js" {BOX_TAG}{attributes}></script>\n'
    text = _without_tag(_text(place))
    if end := _HEAD_END.search(text):
        _write(place, _bytes(text[: end.start()] + tag + text[end.start() :]))


def _without_tag(text: str) -> str:
    return _TAG.sub("", text) if BOX_TAG in text.lower() else text


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _write(path: Path, data: bytes) -> None:
    if not path.is_file() or path.read_bytes() != data:
        write_own(path, data)


# Data

FORMAT = 11  # version of the data; box.js reads no other


def box_script(rows: BoxRows, language: str, synonyms: Synonymous, left_out: Collection[str] = ()) -> bytes:
    """Return the script that passes a box's data to a page. left_out: fields excluded from the search."""
    stem_language = language_code(language) or USUAL_LANGUAGE
    words = set(_words(rows))
    data = {
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="minutes"),
        "language": language,
        "types": dict(sorted(rows.types.items())),
        "documents": rows.documents,
        "sections": rows.sections,
        "stems": _stems(words, stem_language),
        "spellings": SPELLINGS[""] + SPELLINGS.get(language_code(language), []),
        "synonyms": _synonyms(words, language, synonyms),
        "named": stem_language,
        "stopWords": " ".join(sorted(stop_words(stem_language))),
        "asking": {name: " ".join(asking) for name, asking in words_data().items()},
        "askingSigns": ASKING,
        "weights": weights_data(left_out),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return b"lmmAsk.take(%b)\n" % text.encode("utf-8", "replace")  # lone surrogates


def _words(rows: BoxRows) -> Iterator[str]:
    for _, _, title, _, _, summary, questions, passages in rows.sections:
        texts = (passage if isinstance(passage, str) else passage[0] for passage in passages)
        yield from map(fold, find_words(in_unicode("\n".join([title, summary, *questions, *texts]))))


def _stems(words: set[str], language: str) -> list[str]:
    stem_of, forms = Stemmer(language).stem, defaultdict[str, list[str]](list)
    for word in sorted(words):
        stem = stem_of(word)
        forms[stem] += [word] if word != stem else []
    forms.pop("", None)  # stop words
    return [" ".join([stem, *own]) for stem, own in sorted(forms.items())]


def _synonyms(words: set[str], language: str, configured: Synonymous) -> list[list[Any]]:
    """Return the synonyms in the sections: whether matched by capitals only, name, other names."""
    used = {
        name: others
        for name, others in configured.items()
        if any(words.issuperset(map(fold, find_words(other))) for other in (name, *others))
    }
    names = Synonyms(Stemmer(language), language, used)
    return [[int(synonym.needs_capitals), synonym.name, *synonym.others] for synonym in names.names]


# Rows


@dataclass
class BoxRows:
    """Rows of an ask box.

    documents: page and source
    sections: see `section_rows`
    types: number of passages by type, including hidden ones"""

    documents: list[list[str]] = field(default_factory=list)
    sections: list[list[Any]] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)
    languages: list[str] = field(default_factory=list)

    def add(self, document: Section, name: str, source: str, page: PageText) -> None:
        self.sections += section_rows(document, page, len(self.documents))
        self.documents.append([name, source])
        self.languages.append(document.language)


def read_rows(
    pages: Sequence[SitePage], texts: Mapping[str, PageText], project: Project, logger: LoggerBase
) -> BoxRows:
    """Return the rows of pages. texts: parsed pages by name.

    Raise OSError, MarkdownError, QuartoError and ConfigError."""
    rows = BoxRows()
    for page in pages:
        text = (page.file or read_markdown(page.source)).text
        material = read_material(page, text, project, in_file(logger, page.source))
        for document in material.documents:
            rows.add(document, page.page, name_from(project.root, page.source), texts[page.page])
        rows.types.update(material.types)
    return rows


def section_rows(document: Section, page: PageText, number: int) -> Iterator[list[Any]]:
    """Yield a row per section of a document with this number.

    Columns: document number, depth, title, identifier, reading minutes, summary, questions, passages."""
    links = set().union(*(link_labels(passage.text) for passage in document.all_passages()))
    for section in document.walk():
        title = plain_line(section.titles[-1]) if section.titles else ""
        minutes = round(reading_minutes(section.passages), 1)
        passages = [row for passage in section.passages if (row := _passage(passage, page.words, links))]
        questions = list(map(plain_line, section.questions))
        summary = plain_text(section.summary, page.words)
        yield [number, section.depth, title, _nearest_anchor(section, page.ids), minutes, summary, questions, passages]


def _nearest_anchor(section: Section, ids: frozenset[str]) -> str:
    ancestor: Section | None = section
    while ancestor is not None:
        if ancestor.anchor and ancestor.anchor in ids:
            return ancestor.anchor
        ancestor = ancestor.parent
    return ""


def _passage(passage: Passage, words: Mapping[str, str], links: Collection[str]) -> Any:
    text, type = plain_text(passage.text, words, links), type_of(passage)
    term = plain_line(lead_of(without_fences(passage.text))) if type == DEFINITION else ""
    row = [text, type, term, in_unicode(plain_text(" ".join(emphasised(passage.text)), words)) if text else ""]
    while len(row) > 1 and not row[-1]:
        row.pop()
    return row if len(row) > 1 else text


# Pages


@dataclass(frozen=True)
class PageText:
    """The parts of a page used by the box. words: displayed text by label and cited work"""

    ids: frozenset[str]
    words: Mapping[str, str] = field(default_factory=dict)


def read_page(text: str) -> PageText:
    page = parse_html(text)
    words: dict[str, str] = {}
    for element in page.css("a.quarto-xref, span.citation[data-cites]"):
        label, link_text = _label(element), element_text(element)
        if label and link_text and not link_text.startswith(("(", "[", "?")):
            words.setdefault(label, link_text)
    ids = frozenset(element.attributes["id"] or "" for element in page.css("[id]"))
    return PageText(ids - {""}, words)


def _label(element: LexborNode) -> str:
    if element.tag == "a":
        return (element.attributes.get("href") or "").rpartition("#")[2]
    cited = (element.attributes["data-cites"] or "").split()
    return cited[0] if len(cited) == 1 else ""
