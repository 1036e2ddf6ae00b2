"""The notes as pages of the server, with the files that they show, and the data of the box about them."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ..errors import LmmError
from ..retrieve.library import Library
from .access import TEXTS
from .answers import Answers

if TYPE_CHECKING:
    from ..course.served.notes import ServedNotes

DATA = "/contents"
WAIT = 20.0  # seconds; what takes longer goes on, and is there for the next request
LONGEST = 1_000  # characters of a name
AT_ONCE = 4  # requests that are worked on
HEADERS = {"Cache-Control": "private, no-cache"}
MISSING = "There is no such page of the notes. They may have changed: look for it in the contents."
SLOW = "The text is still being made. Try again in a few seconds."
BROKEN = "This page of the notes cannot be shown just now."
# A drawing that is opened by itself runs nothing and loads nothing.
FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

Made = TypeVar("Made")


class NotesRoutes:
    """Answers requests for the text of the notes."""

    def __init__(self, notes: ServedNotes, answers: Answers) -> None:
        self.notes, self.answers = notes, answers
        self._threads = ThreadPoolExecutor(AT_ONCE, "notes")
        self._packed: tuple[bytes, bytes] = b"", b""  # the data, and the same compressed

    @property
    def routes(self) -> list[Route]:
        """The routes of pages, files and data."""
        return [Route(TEXTS + "{name:path}", self.text), Route(DATA, self.data)]

    async def text(self, request: Request) -> Response:
        """Answer with a page or a file of one."""
        name = request.path_params["name"] or "index.html"
        if name.endswith(".html"):
            return await self._page(name)
        data, kind, is_image = _found(await self._work(lambda indexed: self.notes.file(name, indexed)))
        headers = {**HEADERS, "Content-Security-Policy": FILE_POLICY}
        return Response(data, 200, headers if is_image else headers | {"Content-Disposition": "attachment"}, kind)

    async def _page(self, name: str) -> Response:
        """Answer with a page, or with one that says why there is none: a person reads it."""
        try:
            return HTMLResponse(_found(await self._work(lambda indexed: self.notes.page(name, indexed))), 200, HEADERS)
        except HTTPException as error:
            options = self.answers.project.serve
            said = self.notes.told(name, options.title, options.language, error.detail)
            return HTMLResponse(said, error.status_code, {**HEADERS, **(error.headers or {})})

    async def data(self, request: Request) -> Response:
        """Answer with the data of the box."""
        data = await self._work(self.notes.data)
        if self._packed[0] is not data:
            self._packed = data, await asyncio.to_thread(gzip.compress, data, 6)
        tag = f'"{blake2b(data, digest_size=8).hexdigest()}"'
        headers = HEADERS | {"ETag": tag, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(b"", 304, headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self._packed[1], 200, headers | {"Content-Encoding": "gzip"}, "application/json")
        return Response(data, 200, headers, "application/json")

    async def pages(self) -> list[tuple[str, str]]:
        """Return the addresses and titles of all pages. Raise HTTPException."""
        pages = await self._work(self.notes.contents)
        return [(f"{TEXTS[1:]}{page}", title) for page, title in pages]

    def locked(self, path: str) -> Response | None:
        """Return what is shown in place of a page to a browser that has sent no token, None for no page."""
        name = path.removeprefix(TEXTS) or "index.html"
        if not (path.startswith(TEXTS) and name.endswith(".html") and len(name) <= LONGEST):
            return None
        headers = HEADERS | {"WWW-Authenticate": "Bearer"}
        options = self.answers.project.serve
        return HTMLResponse(self.notes.locked(name, options.title, options.language), 401, headers)

    async def _work(self, work: Callable[[Sequence[str]], Made]) -> Made:
        """Do something about the notes in a thread. Raise HTTPException if it fails or takes too long."""
        indexed = (await self.answers.read(Library.material)).sources
        doing = asyncio.get_running_loop().run_in_executor(self._threads, work, indexed)
        try:
            async with asyncio.timeout(WAIT):
                return await asyncio.shield(doing)
        except TimeoutError:
            raise HTTPException(503, SLOW, {"Retry-After": "5"}) from None
        except (LmmError, OSError) as error:
            self.answers.log(f"the text of the notes: {error}")
            raise HTTPException(503, BROKEN, {"Retry-After": "5"}) from None


def _found(made: Made | None) -> Made:
    if made is None:
        raise HTTPException(404, MISSING)
    return made
