"""Running the application on this machine."""

from __future__ import annotations

import gc
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from .connections import Connection, ConnectionLimits, Connections
from .log import Log

GRACE = 10  # seconds that running answers have when the server is to stop
YOUNG = 10_000  # objects after which Python looks for garbage; 50 answers at once have some thousands
QUEUE = 1024  # connections that the system keeps until they are accepted
# Connections that are accepted before those that they displace are closed, and how many there
# may be of them. (asyncio accepts as many as it is told the queue has room for; where it comes
# to no more open files on its way, it says so for each, and comes back as often.)
BURST = 8
ON_THE_WAY = 5 * BURST
FILES = 50  # that the index, the models and Python have open
LEAST = 16  # connections, however few files may be open


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0: any that is free. Raises OSError."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def address_of(listening: socket.socket) -> str:
    """The address of a socket that listens, for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Server(uvicorn.Server):
    """uvicorn's server, with limits for connections, and a log that stays short."""

    def __init__(self, config: uvicorn.Config, log: Log) -> None:
        super().__init__(config)
        self.log = log

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the process is told to stop."""
        with self.log.with_libraries():
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; the system's queue is longer than what is accepted at once."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(QUEUE)

    async def on_tick(self, counter: int) -> bool:
        """Say what was left out of the log, when its time has come."""
        self.log.sum_up()
        return await super().on_tick(counter)


def make_server(app: ASGIApp, proxies: Sequence[str], log: Log, limits: ConnectionLimits | None = None) -> Server:
    """What serves the application, until the process is told to stop (SIGINT, SIGTERM): then
    nobody new is let in, and running answers are finished. proxies: addresses of those that
    say who asks (X-Forwarded-For)."""
    settle_garbage()
    http: Any = partial(Connection, Connections(limits or ConnectionLimits(), proxies, log))
    config = uvicorn.Config(
        app, http=http, log_config=None, access_log=False, server_header=False, ws="none", lifespan="on",
        proxy_headers=bool(proxies), forwarded_allow_ips=",".join(proxies), timeout_graceful_shutdown=GRACE,
        backlog=BURST,
    )  # fmt: skip
    return Server(config, log)


def room_for(wanted: int, answers: int) -> int:
    """How many connections there can be, of those that are wanted, beside so many answers at
    the same time: fewer where the system lets this process have too few files open, after it
    was asked for more."""
    others = FILES + 2 * answers + ON_THE_WAY
    return max(LEAST, min(wanted, _open_files(wanted + others) - others))


def _open_files(wanted: int) -> int:
    """How many files this process may have open, when it has asked for so many."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return soft


def settle_garbage() -> None:
    """Have Python look for garbage less often, and not in what is loaded by now: to look
    through all modules takes longer than ten answers, which wait meanwhile."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
