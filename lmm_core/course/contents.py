"""Build the table of contents of a course, and the frame of its pages without Quarto: header, footer and navigation."""

from __future__ import annotations

import html
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from ..retrieve.plain_text import plain_title
from ..settings.project import Project
from ..settings.quarto_project import as_list, mapping_in
from ..settings.tables import SiteOptions
from ..study.outline import page_title

_FIRST = "index"
FIRST_PAGE = f"{_FIRST}.html"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the table of contents: a page, or a part's title without `page`.

    depth: 0 outside of parts"""

    title: str
    page: str = ""
    source: Path | None = None
    depth: int = 0


def read_contents(
    documents: Sequence[Path], project: Project, folder: Path, settings: Mapping[str, Any]
) -> list[Entry]:
    """Return the table of contents: pages in book or sidebar order, then the others by folder.

    Raise OSError, MarkdownError and QuartoError."""
    waiting = {path.relative_to(folder).as_posix(): path for path in sorted(documents, key=_place)}
    entries: list[Entry] = []
    for name, title, depth in _listed_entries(settings):
        if name and name in waiting:
            entries.append(_entry(waiting.pop(name), title, depth, project, folder))
        elif title and not name:
            entries.append(Entry(plain_title(title), depth=depth))
    first = [name for name in waiting if PurePosixPath(name).with_suffix("").as_posix() == _FIRST]
    entries = [_entry(waiting.pop(name), "", 0, project, folder) for name in first] + entries
    part = ""
    for name, path in waiting.items():
        parent = PurePosixPath(name).parent.as_posix()
        if parent not in (part, "."):
            entries.append(Entry(parent.replace("/", " / ")))
        part = parent
        entries.append(_entry(path, "", int(parent != "."), project, folder))
    return _without_empty_parts(entries)


def _place(path: Path) -> tuple[str, bool, str]:
    return path.parent.as_posix(), path.stem != _FIRST, path.name


def _entry(path: Path, title: str, depth: int, project: Project, folder: Path) -> Entry:
    name = path.relative_to(folder).with_suffix(".html").as_posix()
    return Entry(plain_title(title) or page_title(path, project.rules) or path.stem, name, path, depth)


def _without_empty_parts(entries: list[Entry]) -> list[Entry]:
    following = [*entries[1:], Entry("")]
    return [
        entry
        for entry, after in zip(entries, following, strict=True)
        if entry.page or after.depth > entry.depth or after.page
    ]


# Entries of _quarto.yml


def _listed_entries(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    book = mapping_in(settings, "book")
    for key in ("chapters", "appendices"):
        yield from _items(as_list(book.get(key)), 0)
    sidebar = mapping_in(settings, "website").get("sidebar")
    for bar in sidebar if isinstance(sidebar, list) else [sidebar]:
        if isinstance(bar, dict):
            yield from _items(as_list(bar.get("contents")), 0)


def _items(items: Sequence[Any], depth: int) -> Iterator[tuple[str, str, int]]:
    for item in items:
        if isinstance(item, str):
            yield _file(item), "", depth
        elif isinstance(item, dict):
            inner = as_list(item.get("chapters")) or as_list(item.get("contents"))
            part = str(item.get("part") or item.get("section") or "")
            name = _file(str(item.get("href") or item.get("file") or part))
            is_file = "." in PurePosixPath(name).name
            if name and (is_file or part):
                yield (name, str(item.get("text") or ""), depth) if is_file else ("", part, depth)
            yield from _items(inner, depth + 1 if part else depth)


def _file(name: str) -> str:
    return name.removeprefix("./").lstrip("/")


# Frame


_LABELS = Path(__file__).with_name("files") / "labels.toml"


@cache
def site_words(language: str) -> Mapping[str, str]:
    """Return a site's labels in a language (`de`, `de-CH`), by default English."""
    labels: dict[str, dict[str, str]] = tomllib.loads(_LABELS.read_text("utf-8"))
    return labels.get(language.lower().replace("_", "-").split("-")[0], labels["en"])


def frame_of(entry: Entry, site: SiteOptions, contents: Sequence[Entry], words: Mapping[str, str]) -> dict[str, str]:
    """Return a page's template variables as HTML. words: see `site_words`.

    Without a home page, the table of contents is shown instead."""
    title = site.title
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
        "pages-title": words["pages"],
        "toc-title": words["toc"],
        "pages" if entry.source else "contents": pages,
        "turn": _turn(entry, [line for line in contents if line.page], up, words),
    }


def contents_list(contents: Sequence[Entry], up: str, current: str) -> str:
    """Return the table of contents as links.

    up: path to the site's root"""
    lines = []
    for entry in contents:
        title = html.escape(entry.title)
        kind = f' class="depth-{min(entry.depth, 3)}"' if entry.depth else ""
        here = ' aria-current="page"' if entry.page == current else ""
        link = f'<a href="{up}{_address(entry.page)}"{here}>{title}</a>' if entry.page else f"<span>{title}</span>"
        lines.append(f"<li{kind}>{link}</li>")
    return "\n".join(["<ul>", *lines, "</ul>"])


def _turn(entry: Entry, pages: Sequence[Entry], up: str, words: Mapping[str, str]) -> str:
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
