"""Decides who is let in: known server names, known sites, a token, a number of questions a minute.

It also marks what is sent: headers that keep a browser from running foreign code, and a line
in the log without personal data.
"""

from __future__ import annotations

import ipaddress
import math
import socket
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..log import REQUESTS, Say
from .rates import Rates
from .readers import NO_TOKEN, WHO, Reader, Readers

CHEAP = 0.1  # how many questions a request counts that asks no model
CHEAPEST = 0.02  # a page of the notes, or one of its pictures
POLICY = "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'self'; object-src 'none'"
ELSEWHERE = ("cross-site", "same-site")  # what a browser says about a request caused by another site
TEXTS = "/text/"  # the log names no page of the notes
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})  # methods that the log may name
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Names:
    """The names by which the server is reached, and the sites that may ask it."""

    hosts: frozenset[str]
    origins: tuple[str, ...] = ()

    @classmethod
    def of(cls, host: str, more: Sequence[str], origins: Sequence[str]) -> Names:
        """Return the names of a server that listens on `host` and is also reached by `more` names."""
        names = (*LOOPBACK, host, socket.gethostname(), *more)
        return cls(frozenset(name.strip("[]").lower() for name in names), tuple(origins))

    def knows_host(self, header: str) -> bool:
        """Return True if a request is for this server.

        A page could have its own name lead here (DNS rebinding), but not an address."""
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        return name in self.hosts or _is_address(name)

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return True if a page may ask: one of this server (at `host`), or of an allowed site."""
        scheme, _, place = origin.lower().partition("://")
        return origin in self.origins or (scheme in ("http", "https") and place == host.lower())


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


class GuardMiddleware:
    """The outermost layer.

    It refuses requests for other servers or from strange sites, adds the security headers, and
    logs requests (of many of one kind, the first). paths: those that the log may name."""

    def __init__(self, app: ASGIApp, names: Names, paths: Collection[str], log: Say) -> None:
        self.app, self.names, self.paths, self.log = app, names, paths, log
        framed = " ".join(["'self'", *(origin for origin in names.origins if origin != "null")])
        self.headers = {
            "Content-Security-Policy": f"{POLICY}; frame-ancestors {framed}",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)  # a page may have a stricter policy of its own
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await (self._refusal(Headers(scope=scope)) or self.app)(scope, receive, marked)
        finally:
            path = TEXTS if scope["path"].startswith(TEXTS) else scope["path"]
            known = scope["method"] in METHODS and path in self.paths
            shown = f"{scope['method']} {path}" if known else "-"
            kind = f"{shown} {status or '-'}"
            self.log(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {kind} {_ms(began)} ms", kind, REQUESTS)

    def _refusal(self, headers: Headers) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.names.knows_host(host):
            return refusal(
                421, "This server does not know this name of its own (add it to hosts in the section [serve])."
            )
        if origin is not None and not self.names.knows_origin(origin, host):
            return refusal(403, "Pages of this site may not ask here (origins in the section [serve]).")
        return None


class Access:
    """Lets in readers who may ask, a limited number of times a minute.

    It also refuses requests that a browser sends for a page of another site without an origin
    (`GuardMiddleware` checks the others). free: paths without checks; open_to_all: paths that need
    no token; dear: paths that cost a whole question, as a wrong token does;
    locked: returns what a path shows to a browser that has no token to send, None for the usual."""

    def __init__(
        self, app: ASGIApp, readers: Readers, rates: Rates, free: Collection[str], open_to_all: Collection[str],
        dear: Collection[str], locked: Callable[[str], Response | None] | None = None,
    ) -> None:  # fmt: skip
        self.app, self.rates, self.free, self.open_to_all, self.dear = app, rates, free, open_to_all, dear
        self.locked = locked or (lambda path: None)
        self.readers = readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self.free:
            await (self._refusal(scope) or self.app)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, reader = Headers(scope=scope), self.readers.identify(scope)
        if "origin" not in headers and headers.get("sec-fetch-site") in ELSEWHERE and not _opens_page(scope, headers):
            return refusal(403, "Pages of other sites may not ask here by a picture or a link.")
        wait = self.rates.take(reader.counted, self._cost(scope["path"], reader, headers))
        if wait:
            return refusal(429, "Too many questions at once.", wait)
        if reader.status and scope["path"] not in self.open_to_all:
            needs_token = reader.why == NO_TOKEN
            shown = self.locked(scope["path"]) if needs_token else None
            return shown or refusal(reader.status, reader.why, challenge=needs_token)
        if reader.is_user:
            scope[WHO] = reader.counted
        return None

    def _cost(self, path: str, reader: Reader, headers: Headers) -> float:
        is_wrong = reader.why == NO_TOKEN and headers.get("authorization", "").lower().startswith("bearer ")
        if path in self.dear or (is_wrong and path not in self.open_to_all):
            return 1.0
        return CHEAPEST if path.startswith(TEXTS) else CHEAP


def _opens_page(scope: Scope, headers: Headers) -> bool:
    """Return True if a reader follows a link of another site to a page of the notes."""
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return navigates and scope["method"] == "GET" and scope["path"].startswith(TEXTS)


def refusal(status: int, error: str, wait: float = 0.0, challenge: bool = False) -> Response:
    """Return a response that says why there is no answer. wait: seconds before asking again."""
    headers = {"Retry-After": str(math.ceil(wait))} if wait else {}
    return JSONResponse({"error": error}, status, headers | ({"WWW-Authenticate": "Bearer"} if challenge else {}))


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
