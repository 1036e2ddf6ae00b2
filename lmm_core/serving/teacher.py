"""The teacher's dashboard as a page of the server, behind a token of its own."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from contextlib import closing
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import LmmError
from ..files.stamps import stamps_of
from ..index.passages import Material
from ..study.asked.grouping import FEWEST
from ..study.asked.overview import make_overview
from ..study.asked.page import asked_page, asked_policy
from ..study.asked.recordings import Recordings, recordings_path
from ..study.asked.turns import RecordedTurn
from .access.rates import Rates
from .answers import Answers

PATH = "/teacher"
ASKING, WRONG = 0.1, 1.0  # what a request counts, and one with a wrong token, in questions
ASK_FOR_TOKEN = {"WWW-Authenticate": 'Basic realm="What students asked", charset="UTF-8"'}
NOT_NOW = "The dashboard cannot be made just now; the server's log says why. Try again in a few seconds."

_State = dict[Path, tuple[int, int]]  # of the files of the recordings; see `stamps_of`


class TeacherPage:
    """`GET /teacher`: the dashboard, made anew when there are new recordings or the index has changed.

    The browser asks for the token as for a password (HTTP Basic, any user name), so that no cookie is needed.
    It is made by one request at a time, while questions are answered."""

    def __init__(self, answers: Answers, token: str, rates: Rates) -> None:
        self.answers, self.rates = answers, rates
        self._token = token.encode("utf-8")
        self._making = asyncio.Lock()
        self._made: tuple[_State, Material, str] | None = None

    async def show(self, request: Request) -> Response:
        """Return the page. Raise HTTPException if the token is missing or wrong, or the page cannot be made."""
        self._check(request)
        try:
            async with self._making:
                page = await self._page()
        except LmmError as error:
            self.answers.log(f"the teacher's dashboard: {error}")
            raise HTTPException(503, NOT_NOW, {"Retry-After": "5"}) from None
        policy = f"{asked_policy()}; frame-ancestors 'none'"
        return Response(page, 200, {"Content-Security-Policy": policy}, "text/html")

    def _check(self, request: Request) -> None:
        given = _given_token(request.headers.get("authorization", ""))
        right = given is not None and hmac.compare_digest(given, self._token)
        wait = self.rates.take(request.client.host if request.client else "", WRONG if given and not right else ASKING)
        if wait:
            raise HTTPException(429, "Too many attempts at once.", {"Retry-After": f"{wait:.0f}"})
        if not right:
            raise HTTPException(401, "This page is for the teacher: type the token as password.", ASK_FOR_TOKEN)

    async def _page(self) -> str:
        """Return the page, from before if nothing has changed since. Raise LmmError."""
        async with self.answers.library.use() as library:
            state, material = await asyncio.to_thread(self._state), await library.material()
            if self._made is None or self._made[0] != state or self._made[1] is not material:
                project = self.answers.project
                turns = await asyncio.to_thread(self._turns)
                fewest = 1 if project.serve.small_groups else FEWEST
                overview = await make_overview(project.root, library, turns, self.answers.log, fewest)
                self._made = state, material, await asyncio.to_thread(asked_page, overview)
            return self._made[2]

    def _state(self) -> _State:
        path = recordings_path(self.answers.project.root)
        return stamps_of(path.with_name(f"{path.name}{ending}") for ending in ("", "-wal"))

    def _turns(self) -> list[RecordedTurn]:
        with closing(Recordings(recordings_path(self.answers.project.root))) as recordings:
            return recordings.turns()


def _given_token(header: str) -> bytes | None:
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
