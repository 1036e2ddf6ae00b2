"""The server's own page: the ask box of a course site, for courses without one."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from starlette.responses import Response

from .texts import ServedTexts

TYPES = {".js": "text/javascript", ".css": "text/css"}
HEADERS = {"Cache-Control": "no-cache"}
HTML = Path(__file__).with_name("page.html")
OPEN = "window.lmmAsk.open(); // there is nothing else on this page\n"


def own_page(folder: Path, texts: ServedTexts) -> dict[str, Response]:
    """Return the page and the files of the box, by their paths.

    They are read once, so that no path in a request leads to a file. Their addresses are
    relative, so that a proxy can put the server under any path. folder: where the box is; texts: what
    the page says."""
    files = {f"/box/{path.name}": _file(path) for path in sorted(folder.iterdir()) if path.suffix in TYPES}
    page = {
        "/": Response(_page_html(texts), 200, HEADERS, "text/html"),
        "/open.js": Response(OPEN, 200, HEADERS, TYPES[".js"]),
    }
    return page | files


def _page_html(texts: ServedTexts) -> str:
    shown = {"title": texts.title, "description": texts.description, "language": texts.language}
    return Template(HTML.read_text(encoding="utf-8")).substitute({key: escape(text) for key, text in shown.items()})


def _file(path: Path) -> Response:
    return Response(path.read_bytes(), 200, HEADERS, TYPES[path.suffix])
