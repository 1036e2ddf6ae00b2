"""The server's own page: the ask box of a course site, for courses without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from starlette.responses import Response

from .texts import ServedTexts

TYPES = {".js": "text/javascript", ".css": "text/css"}
HEADERS = {"Cache-Control": "no-cache"}
HTML = Path(__file__).with_name("page.html")
OPEN = "window.lmmAsk.open(); // there is nothing else on this page\n"


@dataclass(frozen=True)
class NotesLink:
    """What the page needs to lead to the text of the notes: the word for it, and the files of its looks."""

    word: str
    files: Sequence[Path]


def own_page(box: Mapping[str, bytes], texts: ServedTexts, notes: NotesLink | None = None) -> dict[str, Response]:
    """Return the page and the files of the box, by their paths.

    They are read once, so that no path in a request leads to a file. Their addresses are
    relative, so that a proxy can put the server under any path. box: its files by their names; texts:
    what the page says; notes: None if their text is not served."""
    looks = {path.name: path.read_bytes() for path in (notes.files if notes else ())}
    files = {f"/box/{name}": _file(name, data) for name, data in {**box, **looks}.items() if Path(name).suffix in TYPES}
    page = {
        "/": Response(_page_html(texts, notes), 200, HEADERS, "text/html"),
        "/open.js": Response(OPEN, 200, HEADERS, TYPES[".js"]),
    }
    return page | files


def _page_html(texts: ServedTexts, notes: NotesLink | None) -> str:
    shown = {"title": texts.title, "description": texts.description, "language": texts.language}
    values = {key: escape(text) for key, text in shown.items()} | {"data": "", "link": "", "looks": ""}
    if notes is not None:
        values["data"] = ' data-notes="contents"'
        values["link"] = f'<p><a href="text/index.html">{escape(notes.word)}</a></p>\n'
        styles = [path.name for path in notes.files if path.suffix == ".css"]
        values["looks"] = "".join(f'<link rel="stylesheet" href="box/{escape(name)}">\n' for name in styles)
    return Template(HTML.read_text(encoding="utf-8")).substitute(values)


def _file(name: str, content: bytes) -> Response:
    return Response(content, 200, HEADERS, TYPES[Path(name).suffix])
