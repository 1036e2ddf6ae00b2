"""Runs the application on this machine."""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from .access.connections import Connection, ConnectionLimits, Connections
from .access.rates import plain_address
from .access.readers import PEER
from .log import Log

GRACE = 10  # seconds that running answers have when the server is to stop
YOUNG = 10_000  # objects between garbage collections; 50 simultaneous answers make some thousands
QUEUE = 1024  # connections that the system queues until they are accepted
# Connections accepted before those that they displace are closed, and how many of them there
# may be. (asyncio accepts as many as the queue may hold. If it runs out of open files on the
# way, it logs each failure and tries again as often.)
BURST = 8
ON_THE_WAY = 5 * BURST
FILES = 50  # open files of the index, the models and Python
LEAST = 16  # connections at least, however few files may be open


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raise OSError if it is not available."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def address_of(listening: socket.socket) -> str:
    """Return the address of a listening socket, for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Server(uvicorn.Server):
    """uvicorn's server, with limits for connections and a short log."""

    def __init__(self, config: uvicorn.Config, log: Log) -> None:
        super().__init__(config)
        self.log = log

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the process is told to stop."""
        with self.log.with_libraries():
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, with a queue longer than the number of connections accepted at once."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(QUEUE)

    async def on_tick(self, counter: int) -> bool:
        """Print what was left out of the log, once its time has come."""
        self.log.sum_up()
        return await super().on_tick(counter)


class Peer:
    """Notes the address that a connection comes from, before a proxy's word on who asks replaces it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope["type"] == "http" and client:
            address = plain_address(client[0])
            scope = {**scope, "client": (address, client[1]), PEER: address}
        await self.app(scope, receive, send)


def make_server(app: ASGIApp, proxies: Sequence[str], log: Log, limits: ConnectionLimits | None = None) -> Server:
    """Return the server of an application, which runs until SIGINT or SIGTERM.

    It then lets nobody new in and finishes running answers. proxies: addresses of proxies that
    say who asks (X-Forwarded-For)."""
    settle_garbage()
    http: Any = partial(Connection, Connections(limits or ConnectionLimits(), proxies, log))
    trusting: Any = ProxyHeadersMiddleware
    config = uvicorn.Config(
        Peer(trusting(app, list(proxies)) if proxies else app), http=http, log_config=None, access_log=False,
        server_header=False, ws="none", lifespan="on", proxy_headers=False, timeout_graceful_shutdown=GRACE,
        backlog=BURST,
    )  # fmt: skip
    return Server(config, log)


def room_for(wanted: int, answers: int) -> int:
    """Return how many connections there can be beside a number of simultaneous answers.

    That is fewer than wanted if the system, asked for more, allows too few open files."""
    others = FILES + 2 * answers + ON_THE_WAY
    return max(LEAST, min(wanted, _open_files(wanted + others) - others))


def _open_files(wanted: int) -> int:
    """Return how many files this process may have open, after asking for `wanted`."""
    if sys.platform == "win32":  # it has no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return soft


def settle_garbage() -> None:
    """Let Python collect garbage less often, and skip everything loaded by now.

    Looking through all modules takes longer than ten answers, which would wait meanwhile."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
