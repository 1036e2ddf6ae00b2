"""The server as a web application: its addresses, and the response to each."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..models.chat import metered
from .access.guard import TEXTS, Access, GuardMiddleware, Names, refusal
from .access.rates import Rates, counted_as
from .access.readers import WHO, Readers
from .access.tokens import TokenFile
from .answers import MOST_HITS, SLOW, Answers, event_bytes
from .notes import DATA, Notes, NotesRoutes
from .questions import Question, checked_text, read_body, read_judgement, read_question
from .teacher import PATH as TEACHER
from .teacher import TeacherPage
from .texts import about_data

BUSY = 2.0  # seconds to wait before asking again when too many ask
PATIENCE = 1.0  # seconds to wait for a place
LAST_WORD = 1.0  # seconds to send the event that the time is up
HITS = 6
API = ("/ask", "/judge", "/search", "/outline", "/health", "/about", DATA, TEXTS)
STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


def make_app(
    answers: Answers, names: Names, token: str, page: Mapping[str, Response], rates: Rates | None = None,
    teacher: str = "", notes: Notes | None = None, tokens: TokenFile | None = None,
) -> Starlette:  # fmt: skip
    """Return the application.

    names: the server's names and the sites that may ask; token: what a reader has to send, ""
    for nothing; page: responses that everybody gets, by path; rates: if they are shared with other
    processes; teacher: the token for the dashboard, "" for none; notes: as pages, None if they cannot
    be shown; tokens: those of courses and groups."""
    options = answers.project.serve
    rates = rates or Rates(options.rate)
    dashboard = {TEACHER: TeacherPage(answers, teacher, rates)} if teacher else {}
    readers = Readers(token, tokens, options.user_header, options.proxies, answers.log)
    text = NotesRoutes(notes, answers) if notes else None

    @asynccontextmanager
    async def closing(app: Starlette) -> AsyncIterator[None]:
        yield
        await answers.library.close()
        if answers.recorder:
            await asyncio.to_thread(answers.recorder.close)

    return Starlette(
        routes=[
            *_routes(answers, page),
            *(Route(path, page.show) for path, page in dashboard.items()),
            *(text.routes if text else ()),
        ],
        middleware=[
            Middleware(GuardMiddleware, names=names, paths=(*API, *page, *dashboard), log=answers.log),
            Middleware(
                CORSMiddleware, allow_origins=names.origins, allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"], expose_headers=["Retry-After"],
            ),
            Middleware(
                Access, readers=readers, rates=rates, free=frozenset([*page, *dashboard]),
                open_to_all=frozenset(["/about"]), dear=frozenset(["/ask", "/judge"]),
                locked=text.locked if text else None,
            ),
        ],
        exception_handlers={HTTPException: _told, Exception: _failed},
        lifespan=closing,
    )  # fmt: skip


def _routes(answers: Answers, page: Mapping[str, Response]) -> list[Route]:
    async def search(request: Request) -> Response:
        asked, most = request.query_params, answers.project.serve.max_question
        limit = asked.get("k", str(HITS))
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MOST_HITS):
            raise HTTPException(400, f"k should be a number from 1 to {MOST_HITS}.")
        query = checked_text(asked.get("q", ""), most, answers.texts)
        return JSONResponse(await answers.search(query, asked.get("type", "")[:most], int(limit)))

    async def outline(request: Request) -> Response:
        return JSONResponse(await answers.outline())

    async def health(request: Request) -> Response:
        return JSONResponse(await answers.health())

    async def about(request: Request) -> Response:
        return JSONResponse(about_data(answers.texts, answers.project.serve))

    async def judge(request: Request) -> Response:
        judgement = read_judgement(await read_body(request), answers.project.serve.max_question)
        await answers.judge(judgement)
        return JSONResponse({"recorded": True})

    def shown(response: Response) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def show(request: Request) -> Response:
            return response

        return show

    return [
        Route("/ask", Ask(answers), methods=["POST"]),
        Route("/search", search),
        Route("/outline", outline),
        Route("/health", health),
        Route("/about", about),
        Route("/judge", judge, methods=["POST"]),
        *(Route(path, shown(response)) for path, response in page.items()),
    ]


async def _told(request: Request, error: Exception) -> Response:
    """Answer what was wrong with a request."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer an error of our own; the server's log has it."""
    return refusal(500, "Something went wrong here. Try again later.")


class Ask:
    """`POST /ask`: an answer as server-sent events. If the reader goes away, the work ends."""

    def __init__(self, answers: Answers) -> None:
        self.answers, self.options = answers, answers.project.serve
        self.places = asyncio.Semaphore(self.options.concurrency)
        self.share = max(2, self.options.concurrency // 4)  # places for one address
        self.held: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(Request(scope, receive))
            question = read_question(body, self.options.max_question, self.answers.texts)
        except ClientDisconnect:
            return
        client = scope.get("client")
        who = scope.get(WHO) or counted_as(client[0] if client else "", self.options.proxies)
        with self._counted(who):
            await _while_connected(self._in_place(question, send), receive)

    @contextmanager
    def _counted(self, who: str) -> Iterator[None]:
        """Count an answer for an address, which has only a share of all; "" is not counted."""
        if who and self.held[who] >= self.share:
            raise HTTPException(429, "Many are asking from your address just now.", {"Retry-After": f"{BUSY:.0f}"})
        self.held[who] += 1
        try:
            yield
        finally:
            self.held[who] -= 1
            self.held += Counter()  # drops those at 0

    async def _in_place(self, question: Question, send: Send) -> None:
        """Answer once a place is free, waiting shortly for one."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self.places.acquire()
        except TimeoutError:
            busy = "Many are asking just now."
            raise HTTPException(429, busy, {"Retry-After": f"{BUSY:.0f}"}) from None
        try:
            await self._answer(question, send)
        finally:
            self.places.release()

    async def _answer(self, question: Question, send: Send) -> None:
        with metered(question.cost):
            await self._answer_metered(question, send)

    async def _answer_metered(self, question: Question, send: Send) -> None:
        until = asyncio.get_running_loop().time() + self.options.timeout
        try:
            async with asyncio.timeout_at(until):
                talk = await self.answers.look(question)
        except TimeoutError:
            raise HTTPException(503, SLOW, {"Retry-After": f"{BUSY:.0f}"}) from None
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        work = asyncio.create_task(
            self.answers.answer(talk, question, lambda event, data: queue.put_nowait(event_bytes(event, data)))
        )
        work.add_done_callback(lambda done: queue.put_nowait(b""))
        slow = False
        try:
            slow = not await self._send_all(queue, send, until)
        finally:
            await _ended(work, SLOW if slow else "")
        if not work.cancelled():
            work.result()

    async def _send_all(self, queue: asyncio.Queue[bytes], send: Send, until: float) -> bool:
        """Send events until the empty one, or until the time is up, and return False then."""
        in_time = True
        await send({"type": "http.response.start", "status": 200, "headers": STREAM})
        try:
            async with asyncio.timeout_at(until):
                while events := await _waiting(queue, self.options.idle_timeout):
                    await send({"type": "http.response.body", "body": events, "more_body": True})
        except TimeoutError:
            in_time = False
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WORD):
                    last = event_bytes("error", {"error": SLOW})
                    await send({"type": "http.response.body", "body": last, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORD):  # do not wait for a reader who does not read
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        return in_time


async def _waiting(queue: asyncio.Queue[bytes], seconds: float) -> bytes:
    """Return all waiting events, at least one, or b"" after the last. Raise TimeoutError."""
    async with asyncio.timeout(seconds):  # wait_for in Python 3.11 can lose an outer time-out
        events = await queue.get()
    while events and not queue.empty():
        event = queue.get_nowait()
        if not event:
            queue.put_nowait(b"")  # for the next call
            break
        events += event
    return events


async def _while_connected(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do some work, unless the reader who asked for it goes away."""
    tasks = [asyncio.create_task(work), asyncio.create_task(_gone(receive))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            await _ended(task)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(task: asyncio.Task[None], why: str = "") -> None:
    """Cancel a task and wait until it has ended. why: the cancellation says so."""
    task.cancel(why or None)
    await asyncio.wait([task])
