"""Check requests by host, origin, token and rate."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import math
import socket
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import TokenError
from ..settings.tables import ServeOptions
from .log import REQUESTS, Log
from .tokens import TokenFile

ANSWER_COST, SEARCH_COST, FILE_COST = 1.0, 0.1, 0.02  # in questions; a search asks no model
ANSWERS = ("/ask", "/judge")  # paths that cost a whole question even when refused
OPEN = ("/about",)  # need no token
SITE = "/site"  # path of the course's site, whose pages the log does not name
PASSWORD = 'Basic realm="Access token", charset="UTF-8"'  # makes browsers prompt for it
POLICY = "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'self'; object-src 'none'"
ELSEWHERE = ("cross-site", "same-site")  # Sec-Fetch-Site of requests from other sites
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})  # names allowed in the log
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ADDRESSES = 10_000  # tracked, in about 2 MB
MINUTE = 60.0
NO_TOKEN = "This server needs an access token."
UNKNOWN = "Access tokens cannot be checked right now. Please tell your teacher."


def refusal(status: int, error: str, wait: float = 0.0, challenge: str = "") -> Response:
    """Return an error response. wait: seconds after which to try again; challenge: value of WWW-Authenticate."""
    headers = {"Retry-After": str(math.ceil(wait))} if wait else {}
    return JSONResponse({"error": error}, status, headers | ({"WWW-Authenticate": challenge} if challenge else {}))


class Rates:
    """Token buckets by client, each refilled evenly up to a minute's questions (`rate`)."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str, cost: float = ANSWER_COST) -> float:
        """Take a cost from a client's bucket and return 0, or return the seconds to wait."""
        key, now = network_of(who), time.monotonic()
        left, then = self._buckets.pop(key, (float(self.rate), now))
        left = min(float(self.rate), left + (now - then) * self.rate / MINUTE)
        missing = max(0.0, cost - left)
        self._buckets[key] = (left if missing else left - cost, now)
        if len(self._buckets) > ADDRESSES:
            self._buckets.popitem(last=False)
        return missing * MINUTE / self.rate


def network_of(address: str) -> str:
    """Return the network that counts as one client: the /64 for IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


@dataclass(frozen=True)
class AccessRules:
    """The rules of access to a server.

    token: shared by all readers, or "" for none; tokens: of courses and groups
    free: paths that need no token, also for pages of other sites; paths: may be named in the log"""

    options: ServeOptions
    host: str
    token: str
    tokens: TokenFile
    free: Collection[str]
    paths: Collection[str]


class Guard:
    """Middleware for access, security headers, and a log without personal data."""

    def __init__(self, app: ASGIApp, rules: AccessRules, log: Log) -> None:
        self.app, self.rules, self.log, options = app, rules, log, rules.options
        self.rates = Rates(options.rate)
        names = (*LOOPBACK, rules.host, socket.gethostname(), *options.hosts)
        self.names = {name.strip("[]").lower() for name in names}
        framed = " ".join(["'self'", *(origin for origin in options.origins if origin != "null")])
        self.headers = {
            "Content-Security-Policy": f"{POLICY}; frame-ancestors {framed}",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)  # a page may set a stricter policy
            await send(message)

        try:
            headers = Headers(scope=scope)
            refused = self._refuse_site(headers, scope) or (
                None if scope["path"] in self.rules.free else self._refuse_client(scope)
            )
            await (refused or self.app)(scope, receive, send_with_headers)
        finally:
            path = SITE if _is_site(scope) else scope["path"]
            named = scope["method"] in METHODS and path in self.rules.paths
            kind = f"{scope['method']} {path}" if named else "-"
            kind += f" {status or '-'}"
            took = round((time.monotonic() - began) * 1000)
            self.log(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {kind} {took} ms", kind, REQUESTS)

    def _refuse_site(self, headers: Headers, scope: Scope) -> Response | None:
        """Refuse an unknown host name (DNS rebinding) or a request from another site, else return None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name not in self.names and not _is_address(name):
            return refusal(421, "This host name is unknown. Add it to hosts in the section [serve] of config.toml.")
        scheme, _, place = (origin or "").lower().partition("://")
        is_own = scheme in ("http", "https") and place == host.lower()
        if origin is not None and not is_own and origin not in self.rules.options.origins:
            return refusal(403, "Pages of this site may not ask here. Add it to origins in [serve] of config.toml.")
        is_elsewhere = origin is None and headers.get("sec-fetch-site") in ELSEWHERE
        if is_elsewhere and scope["path"] not in self.rules.free and not _opens_page(scope, headers):
            return refusal(403, "Pictures and links on other sites may not ask here.")
        return None

    def _refuse_client(self, scope: Scope) -> Response | None:
        """Refuse a client without a valid token or with too many requests, else return None."""
        path, client = scope["path"], scope.get("client")
        address, given = client[0] if client else "", _given_token(scope)
        try:
            name = self._token_name(given)
        except TokenError as error:
            self.log(f"the tokens: {error}")
            return None if path in OPEN else refusal(503, UNKNOWN)
        is_wrong_token = name is None and given and path not in OPEN  # costs a question, to slow down guessing
        cost = ANSWER_COST if path in ANSWERS or is_wrong_token else FILE_COST if _is_site(scope) else SEARCH_COST
        if wait := self.rates.take(f"token {name} {network_of(address)}" if name else address, cost):
            return refusal(429, "Too many questions at once.", wait)
        if name is None and path not in OPEN:
            return refusal(401, NO_TOKEN, challenge=PASSWORD if _is_site(scope) else "Bearer")
        return None

    def _token_name(self, given: bytes) -> str | None:
        """Return the name of a valid token, or None; "" for the shared token, or if none is needed."""
        tokens = self.rules.tokens.read()
        if tokens is None and not self.rules.token:
            return ""
        if self.rules.token and given and hmac.compare_digest(given, self.rules.token.encode("utf-8")):
            return ""
        return self.rules.tokens.name_of(given) if given else None


def needs_token(token: str, tokens: TokenFile) -> bool:
    """Return True if readers need a token."""
    try:
        return bool(token) or tokens.read() is not None
    except TokenError:
        return True


def _is_address(name: str) -> bool:
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _given_token(scope: Scope) -> bytes:
    given: bytes = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, token = given.partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip()
    if scheme.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(token.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""


def _is_site(scope: Scope) -> bool:
    return bool(scope["path"].startswith(f"{SITE}/"))


def _opens_page(scope: Scope, headers: Headers) -> bool:
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return navigates and scope["method"] == "GET" and _is_site(scope)
