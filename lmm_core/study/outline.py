"""Build and print tables of contents with types, summaries and reading times."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import LmmError
from ..files.walk import is_inside
from ..indexing.passages import Material, Passage, Section
from ..logging import printable
from ..markdown.blocks import HeadingBlock, header_content
from ..markdown.files import read_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.visibility import KnitRules
from ..retrieve.items import is_solution, typed_parts_under
from ..retrieve.plain_text import plain_title
from ..scan.knit import knit
from ..settings.project import load_project
from ..settings.quarto_project import mapping_in, page_rules, read_project

# Rate when reading to learn, slower than the 238 of silent reading:
# R. P. Carver, "Reading rate: theory, research, and practical implications", Journal of Reading 36 (1992);
# M. Brysbaert, "How many words do we read per minute?", Journal of Memory and Language 109 (2019).
WORDS_A_MINUTE = 200
WIDTH = 88  # characters
_FIRST_PAGES = ("index.qmd", "index.md", "index.Rmd")
_WORD = re.compile(r"[぀-ヿ㐀-鿿]|[^\W぀-ヿ㐀-鿿]+(?:['’.,-][^\W぀-ヿ㐀-鿿]+)*")


@dataclass(frozen=True)
class OutlineEntry:
    """An entry of a table of contents. level: 0 for documents; minutes, types: with subsections that have no entry."""

    id: str
    title: str
    level: int
    place: str
    anchor: str
    minutes: float
    types: dict[str, int] = field(default_factory=dict)
    summary: str = ""


def make_outline(material: Material, level: int = 0) -> list[OutlineEntry]:
    """Return the table of contents; a single-section document becomes the section. level: 1: documents, 0: all."""
    return [entry for document in material.documents for entry in _entries(document, 0, level)]


def _entries(section: Section, depth: int, level: int) -> Iterator[OutlineEntry]:
    inner = main_section(section)
    children = inner.children if depth + 1 < level or not level else []
    shown = {id(part) for child in children for part in child.walk()}
    items = [] if is_solution(inner.title) else typed_parts_under(section)
    types = Counter(item.type for item in items if id(item.section) not in shown)
    minutes = reading_minutes(section.all_passages())
    summary = section.summary or inner.summary or ("" if children else inner.gist)
    yield OutlineEntry(
        inner.name, plain_title(inner.title), depth, section.place, inner.anchor, minutes, dict(types), summary
    )  # fmt: skip
    for child in children:
        yield from _entries(child, depth + 1, level)


def main_section(section: Section) -> Section:
    """Return the only section of an untitled document, otherwise the section itself."""
    if section.path or len(section.children) != 1:
        return section
    (only,) = section.children
    same = not section.titles or plain_title(section.title).casefold() == plain_title(only.title).casefold()
    return only if same else section


def reading_minutes(passages: Sequence[Passage]) -> float:
    """Return the reading time in minutes. Each Chinese or Japanese character counts as a word."""
    return sum(len(_WORD.findall(passage.text)) for passage in passages) / WORDS_A_MINUTE


def course_title(*folders: Path) -> str:
    """Return the first course title found in the folders, or "".

    Sources: config.toml (`[site] title`), `_quarto.yml`, first page (`index.md`)."""
    return next(filter(None, map(_title_in, folders)), "")


def _title_in(folder: Path) -> str:
    try:
        project, settings = load_project(folder / "-"), read_project(folder)
        named = [mapping_in(settings, name).get("title") for name in ("book", "website")]
        title = next(filter(None, [project.site.title, *named, settings.get("title")]), "")
        first = next((folder / name for name in _FIRST_PAGES if (folder / name).is_file()), None)
        if not title and first and is_inside(first, folder):
            title = page_title(first, project.rules)
        return plain_title(str(title))
    except (OSError, LmmError):  # callers that need the project or the page report it
        return ""


def page_title(path: Path, rules: KnitRules) -> str:
    """Return the title of a page: from its header, else its first published heading, else "".

    Raise OSError, MarkdownError and QuartoError."""
    blocks = parse_markdown_text(read_markdown(path).text)
    header = header_content(blocks)
    if title := header.get("title"):
        return plain_title(str(title))
    kept = knit(blocks, page_rules(path, header, rules))
    return plain_title(next((block.title for block in kept if isinstance(block, HeadingBlock)), ""))


def show_outline(entries: Sequence[OutlineEntry], summaries: bool = False, width: int = WIDTH) -> str:
    """Return the table of contents as text. width: in characters."""
    times = [show_minutes(entry.minutes) for entry in entries]
    margin = max(map(len, times), default=0)
    lines = []
    for entry, time in zip(entries, times, strict=True):
        marks = f"  [{show_types(entry.types)}]" if entry.types else ""
        file = f"  ({entry.place.rpartition(':')[0]})" if not entry.level else ""
        lines.append(f"{time:>{margin}}  {'  ' * entry.level}{entry.title}{marks}{file}")
        if summaries and entry.summary:
            indent = " " * (margin + 4 + 2 * entry.level)
            lines.append(wrap(printable(entry.summary), indent, width))
    return "".join(f"{line}\n" for line in lines)


def wrap(text: str, indent: str, width: int) -> str:
    """Return text wrapped at a width in characters, each line indented."""
    return textwrap.fill(
        " ".join(text.split()), max(width, len(indent) + 20), initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def show_types(types: dict[str, int]) -> str:
    """Return counts as text: `definition, 2 × exercise`."""
    return ", ".join(type if count == 1 else f"{count} × {type}" for type, count in sorted(types.items()))


def show_minutes(minutes: float) -> str:
    """Return a duration as text: `1 min`, `2 h 5 min`."""
    whole = max(round(minutes), 1)
    hours, rest = divmod(whole, 60)
    return " ".join(filter(None, [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]))
