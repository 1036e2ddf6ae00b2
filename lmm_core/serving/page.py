"""The server's own page: the ask box of a course site, for courses without one."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

TYPES = {".js": "text/javascript", ".css": "text/css"}
HEADERS = {"Cache-Control": "no-cache"}
HTML = Path(__file__).with_name("page.html")
OPEN = "window.lmmAsk.open(); // there is nothing else on this page\n"


def own_page(folder: Path) -> dict[str, Response]:
    """Return the page and the files of the box, by their paths.

    They are read once, so that no path in a request leads to a file. Their addresses are
    relative, so that a proxy can put the server under any path. folder: where the box is."""
    files = {f"/box/{path.name}": _file(path) for path in sorted(folder.iterdir()) if path.suffix in TYPES}
    page = {
        "/": Response(HTML.read_bytes(), 200, HEADERS, "text/html"),
        "/open.js": Response(OPEN, 200, HEADERS, TYPES[".js"]),
    }
    return page | files


def _file(path: Path) -> Response:
    return Response(path.read_bytes(), 200, HEADERS, TYPES[path.suffix])
