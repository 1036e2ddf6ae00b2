"""Build the table of contents of a course, and the frame of its pages without Quarto."""

from __future__ import annotations

import html
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from ..files.walk import reading_key
from ..settings.project import Project
from ..settings.tables import SiteOptions
from ..study.outline import page_title

_FIRST = "index"
FIRST_PAGE = f"{_FIRST}.html"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table of contents: a page, or the title of a part, which has no page.

    page: address relative to the site's root
    source: the page's document; None for a part or a generated home page
    depth: 1 for a page in a part, else 0"""

    title: str
    page: str = ""
    source: Path | None = None
    depth: int = 0


def read_contents(documents: Sequence[Path], project: Project, folder: Path, is_book: bool) -> list[Entry]:
    """Return the table of contents, with a part for each folder below the course's.

    documents: in a book, in the order of its chapters; otherwise they are sorted (see `reading_key`)
    Raise OSError, MarkdownError and QuartoError."""
    paths = list(documents) if is_book else sorted(documents, key=lambda path: reading_key(path.as_posix()))
    paths.sort(key=lambda path: path != folder / path.name or path.stem != _FIRST)  # the first page comes first
    entries: list[Entry] = []
    part = ""
    for path in paths:
        parent = path.parent.relative_to(folder).as_posix()
        if parent not in (part, "."):
            entries.append(Entry(parent.replace("/", " / ")))
        part = parent
        name = path.relative_to(folder).with_suffix(".html").as_posix()
        entries.append(Entry(page_title(path, project.rules) or path.stem, name, path, int(parent != ".")))
    return entries


# Frame


_LABELS = Path(__file__).with_name("files") / "labels.toml"


@cache
def site_words(language: str) -> Mapping[str, str]:
    """Return a site's labels in a language (`de`, `de-CH`), in English if that has none."""
    labels: dict[str, dict[str, str]] = tomllib.loads(_LABELS.read_text("utf-8"))
    return labels.get(language.lower().replace("_", "-").split("-")[0], labels["en"])


def frame_of(entry: Entry, site: SiteOptions, contents: Sequence[Entry], language: str) -> dict[str, str]:
    """Return a page's template variables as HTML; a generated home page shows the table of contents as its text."""
    title, words = site.title, site_words(language)
    up = "../" * entry.page.count("/")
    pages = contents_list(contents, up, entry.page)
    return {
        "window-title": html.escape(entry.title if entry.title == title else f"{entry.title} – {title}"),
        "course-title": html.escape(title),
        "up": up,
        "site-author": html.escape(site.author),
        "favicon": _address(site.favicon),
        "color": site.color,
        "footer": html.escape(" · ".join(filter(None, (site.author, site.date, site.footer)))),
        "site-lang": language,
        "pages-title": words["pages"],
        "pages" if entry.source else "contents": pages,
        "turn": _previous_and_next(entry, [other for other in contents if other.page], up, words),
    }


def contents_list(contents: Sequence[Entry], up: str, current: str) -> str:
    """Return the table of contents as links from the current page.

    up: path to the site's root ("../")
    current: the page's address"""
    lines = []
    for entry in contents:
        title = html.escape(entry.title)
        kind = f' class="depth-{min(entry.depth, 3)}"' if entry.depth else ""
        here = ' aria-current="page"' if entry.page == current else ""
        link = f'<a href="{up}{_address(entry.page)}"{here}>{title}</a>' if entry.page else f"<span>{title}</span>"
        lines.append(f"<li{kind}>{link}</li>")
    return "\n".join(["<ul>", *lines, "</ul>"])


def _previous_and_next(entry: Entry, pages: Sequence[Entry], up: str, words: Mapping[str, str]) -> str:
    if entry not in pages:
        return ""
    at, links = pages.index(entry), []
    for kind, beside in (("previous", pages[at - 1 : at] if at else ()), ("next", pages[at + 1 : at + 2])):
        for page in beside:
            label = f"<small>{words[kind]}</small> {html.escape(page.title)}"
            links.append(f'<a class="{kind}" rel="{kind[:4]}" href="{up}{_address(page.page)}">{label}</a>')
    return f'<nav class="turn">{"".join(links)}</nav>' if links else ""


def _address(page: str) -> str:
    return html.escape(quote(page))
