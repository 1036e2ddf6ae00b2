"""The server as a web application: its addresses, and the response to each."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from ..errors import LmmError
from ..index.passages import Material
from ..models.chat import metered
from ..retrieve.library import Library
from ..settings.project import Project
from ..study.asked.grouping import FEWEST
from ..study.asked.overview import make_overview
from ..study.asked.page import asked_page, asked_policy
from ..study.asked.recordings import Recordings, recordings_path
from ..study.asked.turns import RecordedTurn
from .access import TEXTS, Guard, Rates, SignIn, needs_token, refusal
from .answers import MOST_HITS, SLOW, Answers, Looked, ServedModels, event_bytes
from .log import LibraryHandler, Log
from .notes import DATA, NotesRoutes
from .page import about_data, home_page
from .questions import Question, checked_text, read_body, read_judgement, read_question
from .recorder import make_recorder
from .tokens import TokenFile

if TYPE_CHECKING:
    from ..course.served.notes import ServedNotes

BUSY = 2.0  # seconds to wait before asking again when too many ask
PATIENCE = 1.0  # seconds to wait for a place
HITS = 6
TEACHER = "/teacher"
API = ("/ask", "/judge", "/search", "/outline", "/health", "/about", DATA, TEXTS, TEACHER, "/")
ASK_FOR_TOKEN = {"WWW-Authenticate": 'Basic realm="What students asked", charset="UTF-8"'}
NO_PAGE = "The page cannot be made just now; the server's log says why. Try again in a few seconds."


@dataclass(frozen=True)
class Served:
    """Everything that a server needs to start.

    project: with the texts that readers see; host: where it listens; model: in place of the configured one, "" for
    that; token: what a reader has to send, "" for nothing; teacher: the token for the page of what was asked, "" for
    none; files: of the box, by their paths; looks: the styles of the page; notes: makes the notes as pages."""

    project: Project
    host: str
    model: str = ""
    token: str = ""
    teacher: str = ""
    files: Mapping[str, Response] = field(default_factory=dict)
    looks: tuple[str, ...] = ()
    notes: Callable[[Log], ServedNotes | None] = lambda log: None

    def make_app(self, log: Log) -> ASGIApp:
        """Return the application."""
        options = self.project.serve
        models = ServedModels(self.model, options.concurrency, log)
        library = Library(self.project, models, options.patience)
        answers = Answers(self.project, models, library, log, make_recorder(self.project, log))
        notes = self.notes(log)
        routes = NotesRoutes(notes, answers) if notes else None
        app = _Routes(self, answers, Rates(options.rate), routes).application()
        proxied: ASGIApp = app
        if options.proxies:
            proxied = ProxyHeadersMiddleware(app, list(options.proxies))  # type: ignore[arg-type, assignment]
        return SignIn(proxied, options.user_header, options.proxies)


class _Routes:
    """The responses. They raise HTTPException."""

    def __init__(self, served: Served, answers: Answers, rates: Rates, notes: NotesRoutes | None) -> None:
        self.served, self.answers, self.rates, self.notes = served, answers, rates, notes
        self.options = answers.project.serve
        self.places = asyncio.Semaphore(self.options.concurrency)
        self.making = asyncio.Lock()
        self.tokens = TokenFile(answers.project.root)
        self.free = {"/", TEACHER, *served.files}

    def application(self) -> Starlette:
        """Return the application, which knows the sites that may ask, and who may."""
        guard = Middleware(
            Guard, options=self.options, host=self.served.host, token=self.served.token, tokens=self.tokens,
            rates=self.rates, free=self.free, paths={*API, *self.served.files}, log=self.answers.log,
            locked=self.notes.locked if self.notes else lambda path: None,
        )  # fmt: skip
        cors = Middleware(
            CORSMiddleware, allow_origins=self.options.origins, allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"], expose_headers=["Retry-After"],
        )  # fmt: skip
        return Starlette(
            routes=self._all(), middleware=[cors, guard], lifespan=self._lifespan,
            exception_handlers={HTTPException: _problem, Exception: _failure},
        )  # fmt: skip

    def _all(self) -> list[Route]:
        teacher = [Route(TEACHER, self.teacher)] if self.served.teacher else []
        return [
            Route("/ask", self.ask, methods=["POST"]),
            Route("/judge", self.judge, methods=["POST"]),
            Route("/search", self.search),
            Route("/outline", self.outline),
            Route("/health", self.health),
            Route("/about", self.about),
            Route("/", self.home),
            *(Route(path, self.file) for path in self.served.files),
            *teacher,
            *(self.notes.routes if self.notes else ()),
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
        """Show the server's own page; nothing of the notes where readers need a token."""
        material: Material | None = None
        pages: list[tuple[str, str]] | None = [] if self.notes else None
        if not needs_token(self.options, self.served.token, self.tokens):
            try:
                material = await self.answers.read(Library.material, 0.0)
                pages = await self.notes.pages() if self.notes else None
            except HTTPException:  # the log says why
                pass
        return home_page(self.options, material, pages, self.served.looks)

    async def file(self, request: Request) -> Response:
        return self.served.files[request.url.path]

    async def teacher(self, request: Request) -> Response:
        """Show what students asked to who knows the teacher's token, which a browser asks for as for a password."""
        given = _password(request.headers.get("authorization", ""))
        right = given is not None and hmac.compare_digest(given, self.served.teacher.encode("utf-8"))
        address = request.client.host if request.client else ""
        if wait := self.rates.take(address, 1.0 if given and not right else 0.1):
            raise HTTPException(429, "Too many attempts at once.", {"Retry-After": f"{wait:.0f}"})
        if not right:
            raise HTTPException(401, "This page is for the teacher: type the token as password.", ASK_FOR_TOKEN)
        try:
            async with self.making, self.answers.library.use() as library:
                turns = await asyncio.to_thread(self._turns)
                overview = await make_overview(self.answers.project.root, library, turns, self.answers.log, FEWEST)
        except LmmError as error:
            self.answers.log(f"the teacher's page: {error}")
            raise HTTPException(503, NO_PAGE, {"Retry-After": "5"}) from None
        policy = f"{asked_policy()}; frame-ancestors 'none'"
        return Response(asked_page(overview), 200, {"Content-Security-Policy": policy}, "text/html")

    def _turns(self) -> list[RecordedTurn]:
        with closing(Recordings(recordings_path(self.answers.project.root))) as recordings:
            return recordings.turns()

    # Data

    async def search(self, request: Request) -> Response:
        asked, most = request.query_params, self.options.max_question
        limit = asked.get("k", str(HITS))
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MOST_HITS):
            raise HTTPException(400, f"k should be a number from 1 to {MOST_HITS}.")
        query = checked_text(asked.get("q", ""), self.options)
        return JSONResponse(await self.answers.search(query, asked.get("type", "")[:most], int(limit)))

    async def outline(self, request: Request) -> Response:
        return JSONResponse(await self.answers.outline())

    async def health(self, request: Request) -> Response:
        return JSONResponse(await self.answers.health())

    async def about(self, request: Request) -> Response:
        return JSONResponse(about_data(self.options))

    async def judge(self, request: Request) -> Response:
        await self.answers.judge(read_judgement(await read_body(request), self.options.max_question))
        return JSONResponse({"recorded": True})

    # Answers

    async def ask(self, request: Request) -> Response:
        """Answer by server-sent events, once a place is free. If the reader goes away, the work ends."""
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
        """Yield the events of an answer until it has ended, or its time is up."""
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


class _AnswerStream(StreamingResponse):
    """A stream of events. place: is given back at its end, whether it began or not."""

    def __init__(self, events: AsyncGenerator[bytes], place: AsyncExitStack) -> None:
        super().__init__(events, 200, {"X-Accel-Buffering": "no"}, "text/event-stream")
        self.events, self.place = events, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.place, aclosing(self.events):
            await super().__call__(scope, receive, send)


async def _next(queue: asyncio.Queue[bytes], seconds: float, until: float) -> bytes:
    """Return all waiting events, at least one, or b"" after the last. Raise TimeoutError."""
    async with asyncio.timeout_at(until), asyncio.timeout(seconds):
        events = await queue.get()
    while events and not queue.empty():
        event = queue.get_nowait()
        if not event:
            queue.put_nowait(b"")  # for the next call
            break
        events += event
    return events


def _password(header: str) -> bytes | None:
    """Return the token in an `Authorization` header, None if there is none: a password, or that of a bearer."""
    scheme, _, given = header.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode("utf-8")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(given.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


async def _problem(request: Request, error: Exception) -> Response:
    """Answer what was wrong with a request."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failure(request: Request, error: Exception) -> Response:
    """Answer an error of our own; the server's log has it."""
    return refusal(500, "Something went wrong here. Try again later.")
