"""Define the web application's routes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from ..indexing.passages import Material
from ..models.chat import metered
from ..retrieve.library import Library
from ..settings.project import Project
from .access import SITE, AccessRules, Guard, needs_token, refusal
from .answers import MOST_HITS, SLOW, Answers, Looked, ServedModels, event_bytes
from .log import LibraryHandler, Log
from .page import ServedSite, home_page
from .questions import Question, checked_text, read_body, read_judgement, read_question
from .recorder import make_recorder
from .tokens import TokenFile

BUSY = 2.0  # seconds to wait when the server is busy
PATIENCE = 1.0  # seconds to wait for a slot
HITS = 6
SITE_POLICY = "base-uri 'self'; object-src 'self'; frame-ancestors 'self'"
ABOUT = ("title", "greeting", "empty", "too_long", "language", "record", "keep_days", "privacy")  # public options
API = ("/ask", "/judge", "/search", "/health", "/about", SITE, "/")


@dataclass(frozen=True)
class Served:
    """A server's parameters.

    model: overrides the configured one; token: required from readers, "" for none; files: the box's, by path"""

    project: Project
    host: str
    model: str = ""
    token: str = ""
    files: Mapping[str, Response] = field(default_factory=dict)
    site: ServedSite | None = None

    def make_app(self, log: Log) -> ASGIApp:
        options = self.project.serve
        models = ServedModels(self.model, options.concurrency, log)
        library = Library(self.project, models, options.patience)
        app = _Routes(self, Answers(self.project, models, library, log, make_recorder(self.project, log))).application()
        if not options.proxies:
            return app
        return ProxyHeadersMiddleware(app, list(options.proxies))  # type: ignore[arg-type, return-value]


class _Routes:
    """The routes, which raise HTTPException."""

    def __init__(self, served: Served, answers: Answers) -> None:
        self.served, self.answers = served, answers
        self.options = answers.project.serve
        self.places = asyncio.Semaphore(self.options.concurrency)
        self.tokens = TokenFile(answers.project.root)

    def application(self) -> Starlette:
        files = self.served.files
        rules = AccessRules(
            self.options, self.served.host, self.served.token, self.tokens, {"/", *files}, {*API, *files}
        )
        guard = Middleware(Guard, rules=rules, log=self.answers.log)
        cors = Middleware(
            CORSMiddleware, allow_origins=self.options.origins, allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"], expose_headers=["Retry-After"],
        )  # fmt: skip
        return Starlette(
            routes=self._all(), middleware=[cors, guard], lifespan=self._lifespan,
            exception_handlers={HTTPException: _problem, Exception: _failure},
        )  # fmt: skip

    def _all(self) -> list[BaseRoute]:
        site = self.served.site
        return [
            Route("/ask", self.ask, methods=["POST"]),
            Route("/judge", self.judge, methods=["POST"]),
            Route("/search", self.search),
            Route("/health", self.health),
            Route("/about", self.about),
            Route("/", self.home),
            *(Route(path, self.file) for path in self.served.files),
            *([Mount(SITE, _SiteFiles(directory=site.folder, html=True))] if site else ()),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        handler, root = LibraryHandler(self.answers.log), logging.getLogger()
        root.addHandler(handler)
        expiring = asyncio.create_task(self.answers.recorder.expire_daily()) if self.answers.recorder else None
        try:
            yield
        finally:
            root.removeHandler(handler)
            if expiring is not None:
                expiring.cancel()
            await self.answers.library.close()
            if self.answers.recorder:
                await asyncio.to_thread(self.answers.recorder.close)

    # Pages

    async def home(self, request: Request) -> Response:
        """Return the server's page, without contents of the notes if a token is required."""
        if needs_token(self.served.token, self.tokens):
            return home_page(self.options, None, None)
        material: Material | None = None
        with suppress(HTTPException):  # already logged
            material = await self.answers.read(Library.material, 0.0)
        return home_page(self.options, material, self.served.site)

    async def file(self, request: Request) -> Response:
        return self.served.files[request.url.path]

    # Data

    async def search(self, request: Request) -> Response:
        asked, most = request.query_params, self.options.max_question
        limit = asked.get("k", str(HITS))
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MOST_HITS):
            raise HTTPException(400, f"k should be a number from 1 to {MOST_HITS}.")
        query = checked_text(asked.get("q", ""), self.options)
        return JSONResponse(await self.answers.search(query, asked.get("type", "")[:most], int(limit)))

    async def health(self, request: Request) -> Response:
        return JSONResponse(await self.answers.health())

    async def about(self, request: Request) -> Response:
        return JSONResponse({name: getattr(self.options, name) for name in ABOUT})

    async def judge(self, request: Request) -> Response:
        await self.answers.judge(*read_judgement(await read_body(request), self.options.max_question))
        return JSONResponse({"recorded": True})

    # Answers

    async def ask(self, request: Request) -> Response:
        """Answer with server-sent events, cancelled if the reader disconnects."""
        question = read_question(await read_body(request), self.options)
        until = asyncio.get_running_loop().time() + self.options.timeout
        try:
            async with asyncio.timeout(PATIENCE):
                await self.places.acquire()
        except TimeoutError:
            raise HTTPException(429, "Many are asking just now.", {"Retry-After": f"{BUSY:.0f}"}) from None
        async with AsyncExitStack() as place:
            place.callback(self.places.release)
            try:
                with metered(question.cost):
                    async with asyncio.timeout_at(until):
                        looked = await self.answers.look(question)
            except TimeoutError:
                raise HTTPException(503, SLOW, {"Retry-After": f"{BUSY:.0f}"}) from None
            return _AnswerStream(self._events(looked, question, until), place.pop_all())

    async def _events(self, looked: Looked, question: Question, until: float) -> AsyncGenerator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        async def work() -> None:
            with metered(question.cost):
                await self.answers.answer(
                    looked, question, lambda event, data: queue.put_nowait(event_bytes(event, data))
                )

        task, slow = asyncio.create_task(work()), ""
        task.add_done_callback(lambda done: queue.put_nowait(b""))
        try:
            while event := await _next(queue, self.options.idle_timeout, until):
                yield event
        except TimeoutError:
            slow = SLOW
            yield event_bytes("error", {"error": SLOW})
        finally:
            task.cancel(slow or None)
            await asyncio.wait([task])
        if not task.cancelled():
            task.result()


class _SiteFiles(StaticFiles):
    """Files of the course's site, which may have scripts and styles of their own."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers.update({"Content-Security-Policy": SITE_POLICY, "Cache-Control": "private, no-cache"})
        return response


class _AnswerStream(StreamingResponse):
    """A stream of events. place: released at its end, even if never started."""

    def __init__(self, events: AsyncGenerator[bytes], place: AsyncExitStack) -> None:
        super().__init__(events, 200, {"X-Accel-Buffering": "no"}, "text/event-stream")
        self.events, self.place = events, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.place, aclosing(self.events):
            await super().__call__(scope, receive, send)


async def _next(queue: asyncio.Queue[bytes], seconds: float, until: float) -> bytes:
    async with asyncio.timeout_at(until), asyncio.timeout(seconds):
        events = await queue.get()
    while events and not queue.empty():
        event = queue.get_nowait()
        if not event:
            queue.put_nowait(b"")  # for the next call
            break
        events += event
    return events


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failure(request: Request, error: Exception) -> Response:
    return refusal(500, "Something went wrong here. Try again later.")
