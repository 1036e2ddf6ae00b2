"""The ask box of a site: its data, and the tag that brings it onto the pages.

The data are scripts, since a page that is opened as a file may fetch nothing else:
`data.js` says what there is, `part-1.js` and so on hold the sections in their order.
Nothing that is left out of the notes is in them, unless its type is included on purpose.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ..files.marked import check_inside, is_link, is_ours, make_marked, remove_marked, write_own
from ..files.walk import NOTEBOOK
from ..index.chunks import anchor_of
from ..logging import LoggerBase, in_file
from ..markdown.blocks import Block, HeadingBlock, TextBlock, header_content
from ..markdown.files import load_markdown
from ..markdown.originals import unfold_edits
from ..markdown.parse import parse_markdown_text
from ..markdown.rag_only import KnitRules, verdicts
from ..markdown.regions import split_fences
from ..markdown.tree import blocks_to_tree
from ..models.embedders.bm25 import NO_LANGUAGE, bm25_language, stop_words
from ..retrieve.items import DEFINITION, kind_of, lead_of, without_fences
from ..retrieve.passages import Material, Passage, Section, build_material
from ..scan.knit import strip_divs
from ..scan.rag_parts import unfold_parts
from ..settings.project import Project
from ..settings.quarto_project import active_profiles, page_rules, page_settings
from ..store.vector_store import ScoredPoint
from ..study.outline import plain_title, reading_minutes
from ..workflows.encode import blocklist_encode
from ..workflows.passes import docid_of, project_of
from .setup import ASK_FOLDER, AskBoxSettings, packaged_extension
from .site_words import page_words, with_words
from .visibility import PageConditions

BOX = "ask-box"  # the kind of the folder
PART = 300_000  # bytes of a part, at most; a section that is longer has one of its own
RUN = (".qmd", ".rmd", ".rmarkdown", NOTEBOOK)  # documents whose code is run
FORMAT = 1  # of the data: ask.js reads no other
_MADE = re.compile(r'"made":"[^"]*"')
_TAG = re.compile(r"[ \t]*<script\b[^<>]*\bdata-lmm-ask\b[^<>]*></script>\n?", re.I)
_HEAD_END = re.compile(r"[ \t]*</head\s*>", re.I)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*\n?", re.M)
_LINE = re.compile(r"^(?=[^\n])", re.M)
_COLUMNS = re.compile(r"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*")  # the rule of a simple table
_GAP = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_RAW = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*\{=")
_SOFT_BREAK = re.compile(r"(?<=\S)[ \t]*\n(?=[^\s\-*+>|:#\[]|[*_]{1,2}\w)(?!\d+[.)])")
# Rules and lines between parts, marks of captions, definitions of links, citations, shortcodes,
# marks of footnotes, raw text.
_NOT_READ = re.compile(
    r"^[ \t]*[|+]?[ \t]*:?[-=]{2,}[-=:|+ \t]*(?:\n|\Z)|^[ \t]*([*_-])(?:[ \t]*\1){2,}[ \t]*$|"
    r"^[ \t]*(?:Table)?:[ \t]+|^ {0,3}\[[^\[\]^][^\[\]]*\]:[ \t]*\S+(?:[ \t]+[\"'(].*)?$|"
    r"[ \t]*(?<!!)\[[^\[\]]*@[\w:.-][^\[\]]*\](?!\()|\{\{<.*?>\}\}|^\[\^[^\]\n]+\]:[ \t]*|`[^`\n]*`\{=\w+\}",
    re.M,
)
_FORMULA = re.compile(r"\$\$(?:[^$\n]|\n(?!\n))+\$\$")  # on a line of its own, or on several
_QUOTED = re.compile(r"^ {0,3}(?:>[ \t]?)+", re.M)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)(?:\n|\Z)", re.M)
_HARD_BREAK = re.compile(r"\\\n")
_LINK = re.compile(  # not in code and formulas, but with code in it
    r"(`[^`\n]*`|\$[^$\n]+\$)|(?<![\w\]])!?\[([^\[\]^][^\[\]]*)\](?:\[[^\[\]^]*\]|\([^()\s]*\))"
)
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]+|[\w.+-]+@[\w.-]+)>")


@dataclass(frozen=True, slots=True)
class SitePage:
    """A document and the page that shows it, a path from the site's folder. A document
    that is included in another has the other's page."""

    source: Path
    page: str


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: how many documents and sections the data have, and which files have
    changed."""

    documents: int
    sections: int
    files: tuple[Path, ...]


def write_box(
    output: Path,
    pages: Sequence[SitePage],
    project: Project,
    ask: AskBoxSettings,
    settings: Mapping[str, Any],
    logger: LoggerBase,
) -> Written:
    """Write the data of an ask box and the box itself into a site, and the tag for it into
    its pages; what has not changed is not written. settings: what `_quarto.yml` says. Pages
    that are not there have no part in it. Raises OSError, MarkdownError, ConfigError, and
    FolderError where a folder or a page is not ours to write."""
    shown = [page for page in pages if (output / page.page).is_file()]
    rules = replace(project.rules, keep=project.rules.keep | ask.include)
    material, sources = _read(shown, replace(project, rules=rules), settings, logger)
    texts = {page: _text(output / page) for page in dict.fromkeys(sources.values())}
    ids = {page: element_ids(text) for page, text in texts.items()}
    documents, rows = _rows(material, sources, ids, {page: page_words(text) for page, text in texts.items()})
    files = _files(documents, rows, material.kinds, str(settings.get("lang") or "en"))
    check_inside(output, output / ASK_FOLDER)
    for page in ids:
        check_inside(output, output / page)
    make_marked(output / ASK_FOLDER, BOX)
    changed = _write_files(output / ASK_FOLDER, files)
    marks = {page: _mark(rows, documents, page) for page in ids}
    changed += [output / page for page in ids if _put_tag(output, page, ask, marks[page])]
    return Written(len(documents), len(rows), tuple(changed))


def remove_box(output: Path) -> None:
    """Take an ask box out of a site, where one is. Raises OSError, and FolderError for a folder
    that is not ours."""
    folder = output / ASK_FOLDER
    check_inside(output, folder)
    if not is_ours(folder, BOX):
        return
    for path in output.rglob("*.html"):
        if is_link(path) or not path.is_file():  # none of ours: no box is put into one
            continue
        text = _text(path)
        _write(path, _TAG.sub("", text) if "data-lmm-ask" in text else text)
    remove_marked(folder, BOX)


# What the data may hold


def public_blocks(blocks: Sequence[Block], rules: KnitRules) -> list[Block]:
    """The blocks of what stays in the notes, with the metadata of it. Headings have the
    identifier that Pandoc gives them: it counts those that are left out, too."""
    blocks = unfold_parts(unfold_edits(blocks).blocks, rules)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return []
    kept: list[Block] = [] if tree.get("knit") is False else [*tree.metadata]
    counts: Counter[str] = Counter()
    for node, is_out in verdicts(tree, rules):
        block = getattr(node, "heading", None) or getattr(node, "block", None)
        if isinstance(block, HeadingBlock):
            block = _with_identifier(block, counts)
        elif isinstance(block, TextBlock) and (":::" in block.source or "<" in block.source):
            block = replace(block, source=strip_divs(block.source, rules))
        if not is_out and block is not None:
            kept += [*node.metadata, block]
    return kept


def _with_identifier(block: HeadingBlock, counts: Counter[str]) -> HeadingBlock:
    return replace(block, source=f"{'#' * block.level} {block.title} {{#{anchor_of(block, counts)}}}\n\n")


def _read(
    pages: Sequence[SitePage], project: Project, settings: Mapping[str, Any], logger: LoggerBase
) -> tuple[Material, dict[str, str]]:
    """The material of the pages, and the page of each source."""
    points: list[ScoredPoint] = []
    sources: dict[str, str] = {}
    for page in pages:
        source = Path(os.path.relpath(page.source.resolve(), project.root.resolve())).as_posix()
        sources[source] = page.page
        blocks = parse_markdown_text(load_markdown(page.source).text)
        located = in_file(logger, page.source)
        own = project_of(blocks, project, located)
        if own is None:
            continue
        header = header_content(blocks)
        metadata = page_settings(page.source, header, settings)
        shown = PageConditions(frozenset(active_profiles()), metadata, page.source.suffix.lower() in RUN)
        on_page = [_shown(block, shown) for block in unfold_edits(blocks).blocks]
        kept = public_blocks(on_page, page_rules(page.source, header, own.rules))
        chunks = blocklist_encode(kept, own, docid=docid_of(page.source), source=source, logger=located).chunks
        points += [ScoredPoint(chunk.uuid, chunk.payload) for chunk in chunks]
    return build_material(points, list(sources)), sources


def _shown(block: Block, shown: PageConditions) -> Block:
    return replace(block, source=shown.text(block.source)) if isinstance(block, TextBlock) else block


# Rows


def _rows(
    material: Material,
    sources: Mapping[str, str],
    ids: Mapping[str, frozenset[str]],
    words: Mapping[str, Mapping[str, str]],
) -> tuple[list[list[str]], list[list[Any]]]:
    """The documents (page and source) and the sections: number of the document, depth,
    title, identifier in the page, minutes of reading, summary, questions, passages."""
    documents = [[sources[document.source], document.source] for document in material.documents]
    rows = []
    for number, document in enumerate(material.documents):
        known, own = ids[sources[document.source]], words[sources[document.source]]
        for section in document.walk():
            title = plain_title(section.titles[-1]) if section.titles else ""
            minutes = round(reading_minutes(section.passages), 1)
            passages = [row for passage in section.passages if (row := _passage(passage, own))]
            rows.append([number, section.depth, title, _existing(section, known), minutes,
                         plain_text(section.summary, own), section.questions, passages])  # fmt: skip
    return documents, rows


def _existing(section: Section, ids: frozenset[str]) -> str:
    """The section's identifier, where the page has it, else that of the nearest section
    around it that is there; "" for the page."""
    found: Section | None = section
    while found is not None:
        if found.anchor and found.anchor in ids:
            return found.anchor
        found = found.parent
    return ""


def _passage(passage: Passage, words: Mapping[str, str]) -> Any:
    """A passage: its text; with its type, and a definition with the term, where it has one."""
    text, kind = plain_text(passage.text, words), kind_of(passage)
    if not kind or not text:
        return text
    return [text, kind, *([plain_title(lead_of(without_fences(passage.text)))] if kind == DEFINITION else [])]


def plain_text(markdown: str, words: Mapping[str, str] | None = None) -> str:
    """A markdown text as it is read: no fences, attributes, citations, link targets and marks;
    formulas in Unicode. Code stays, indented by four blanks, by which the box knows it. words:
    what the page shows for the labels that the text refers to."""
    pieces = split_fences(without_fences(markdown))
    unquoted = "".join(piece if is_code else _QUOTED.sub("", piece) for is_code, piece in pieces)
    parts = []
    for is_code, piece in split_fences(unquoted):
        if is_code:
            parts.append("" if _RAW.match(piece) else _LINE.sub("    ", _FENCE.sub("", piece)))
        else:
            parts.append("\n".join(map(plain_title, _plain_lines(piece, words or {}))) + "\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).strip("\n").rstrip()


def _plain_lines(text: str, words: Mapping[str, str]) -> list[str]:
    """The lines of a text without code, those that belong together joined."""
    text = _FORMULA.sub(lambda found: " ".join(found[0].split()), text)
    text = "\n\n".join(map(_with_rows, text.split("\n\n")))
    text = _LINK.sub(lambda found: found[1] or found[2], _NOT_READ.sub("", text))
    text = with_words(_AUTOLINK.sub(r"\1", text), words)
    text = _HARD_BREAK.sub("\n\n", _HEADING.sub(r"\1\n\n", text))
    return _SOFT_BREAK.sub(" ", text).split("\n")


def _with_rows(paragraph: str) -> str:
    """A paragraph that is a simple table with bars between its columns, as in a pipe table, and
    its caption apart."""
    lines = paragraph.split("\n")
    if not any(map(_COLUMNS.fullmatch, lines)):
        return paragraph
    return "\n".join(map(_row, lines))


def _row(line: str) -> str:
    if not line.strip() or _COLUMNS.fullmatch(line):
        return line
    if line.lstrip().startswith((":", "Table:")):
        return f"\n{line}\n"
    return f"| {_GAP.sub(' | ', line.strip())} |"


class _Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.update(value for name, value in attrs if name == "id" and value)


def element_ids(page: str) -> frozenset[str]:
    """The identifiers of all elements of an HTML page."""
    parser = _Ids()
    parser.feed(page)
    parser.close()
    return frozenset(parser.found)


# Files


def _files(
    documents: list[list[str]], rows: Sequence[list[Any]], kinds: Counter[str], language: str
) -> dict[str, str]:  # fmt: skip
    """The data by the names of their files."""
    parts = list(_parts([_json(row) for row in rows]))
    files = {f"part-{number}.js": f"lmmAsk.part({number},[{part}])\n" for number, part in enumerate(parts, 1)}
    named = bm25_language(language)
    about = {
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="minutes"),
        "language": language,
        "kinds": dict(sorted(kinds.items())),
        "documents": [[page, source, _mark(rows, documents, page)] for page, source in documents],
        "parts": [hashlib.blake2b(text.encode(), digest_size=4).hexdigest() for text in files.values()],
        "stopWords": "" if named == NO_LANGUAGE else " ".join(sorted(stop_words(named))),
    }
    return files | {"data.js": f"lmmAsk.take({_json(about)})\n"}


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair has no place in a file


def _parts(rows: Iterable[str]) -> Iterator[str]:
    part: list[str] = []
    size = 0
    for row in rows:
        length = len(row.encode()) + 1
        if part and size + length > PART:
            yield ",".join(part)
            part, size = [], 0
        part.append(row)
        size += length
    if part:
        yield ",".join(part)


def _mark(rows: Sequence[list[Any]], documents: Sequence[Sequence[str]], page: str) -> str:
    """What tells the states of a page apart, "" where nothing of it is in the data. The page
    has it, too: data that are older or newer than the page are noticed by it."""
    own = [row for row in rows if documents[row[0]][0] == page]
    return hashlib.blake2b(_json(own).encode(), digest_size=4).hexdigest() if own else ""


def _write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the data and the box; parts that are left over go. Returns what has changed."""
    changed = []
    for name, text in files.items():
        path = folder / name
        old = _text(path) if path.is_file() else ""
        same = _MADE.sub("", old, count=1) == _MADE.sub("", text, count=1) if name == "data.js" else old == text
        if not same and _write(path, text):
            changed.append(path)
    for path in folder.glob("part-*.js"):
        if path.name not in files:
            path.unlink()
    for path in sorted((packaged_extension() / "ask").iterdir()):
        if _write(folder / path.name, _text(path)):
            changed.append(folder / path.name)
    return changed


def _put_tag(output: Path, page: str, ask: AskBoxSettings, mark: str) -> bool:
    """Put the tag of the box into a page; whether it has changed."""
    path = output / page
    up = "../" * page.count("/") + ASK_FOLDER
    values = {"page": page, "mark": mark} | ({"server": ask.server} if ask.server else {})
    data = "".join(f' data-{key}="{html.escape(value)}"' for key, value in values.items())
    tag = f'<script async src="{up}/ask.js" data-lmm-ask{data}></script>\n'
    text = _TAG.sub("", _text(path))
    end = _HEAD_END.search(text)
    return end is not None and _write(path, text[: end.start()] + tag + text[end.start() :])


def _text(path: Path) -> str:
    """A file's text; line ends as they are."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> bool:
    """Write a file where it would change; whether it did."""
    data = text.encode("utf-8", "surrogateescape")
    if path.is_file() and path.read_bytes() == data:
        return False
    write_own(path, data)
    return True
