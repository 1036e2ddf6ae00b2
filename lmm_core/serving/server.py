"""Runs an application on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

GRACE = 10  # seconds that running answers have when the server is to stop
FILES = 200  # open files of the index, the models and Python, and of connections that are just accepted
LEAST = 16  # connections at least, however few files may be open


class Connection(H11Protocol):
    """A connection that is closed if its request, or the reader of its answer, is too slow.

    uvicorn limits only the silence after an answer. When there are too many, the connection that has waited longest
    for its request makes room, since an honest reader's request comes at once."""

    asking = 15.0  # seconds until a request has arrived
    reading = 20.0  # seconds in which a reader has to take some of an answer
    least = 20_000  # bytes, that is

    _seconds = 0.0  # the limit that holds now, 0 for none
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the connection in, and make room for it."""
        super().connection_made(transport)
        if self.limit_concurrency and len(self.connections) >= self.limit_concurrency:
            waiting = [one for one in self.connections if isinstance(one, Connection) and one._waits()]
            if waiting:
                min(waiting, key=Connection._expires).transport.abort()
        self._limit()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what has arrived."""
        super().handle_events()
        self._limit()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._limit()

    def pause_writing(self) -> None:
        """Wait for the reader of the answer."""
        super().pause_writing()
        self._limit()

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self._limit()

    def send_400_response(self, msg: str) -> None:
        """Say that a request is invalid, unless an answer is being sent, in the middle of which nobody would
        understand it."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _waits(self) -> bool:
        return self._seconds == self.asking and self._timer is not None and not self.transport.is_closing()

    def _expires(self) -> float:
        return self._timer.when() if self._timer else 0.0

    def _limit(self) -> None:
        """Begin the time of what is waited for, unless it has begun."""
        is_answered = self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)
        seconds = self.reading if self.flow.write_paused else 0.0 if is_answered else self.asking
        if seconds == self._seconds:
            return
        if self._timer:
            self._timer.cancel()
        self._seconds = seconds
        self._timer = self.loop.call_later(seconds, self._end, self._unread()) if seconds else None

    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def _end(self, before: int) -> None:
        """Close the connection, unless a reader has taken something of what waits: `before` bytes."""
        if self.flow.write_paused and self._unread() <= before - self.least:
            self._timer = self.loop.call_later(self.reading, self._end, self._unread())
        else:
            self.transport.abort()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raise OSError if it is not available."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def address_of(listening: socket.socket) -> str:
    """Return the address of a listening socket, for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def server_config(app: ASGIApp | Callable[[], ASGIApp], connections: int, workers: int = 1) -> uvicorn.Config:
    """Return uvicorn's configuration for an application, or with several workers for what makes it."""
    http: Any = Connection
    return uvicorn.Config(
        app, http=http, factory=workers > 1, workers=workers, limit_concurrency=connections, log_config=None,
        access_log=False, server_header=False, ws="none", lifespan="on", proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip


def run_workers(config: uvicorn.Config, listening: socket.socket) -> None:
    """Serve with several processes until this one is told to end; one that ends is replaced."""
    Multiprocess(config, sockets=[listening]).run()


def end_with_parent() -> None:
    """Have this process, a worker, end with the one that started it."""

    def watch() -> None:
        if (parent := parent_process()) is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def room_for(wanted: int) -> int:
    """Return how many connections there can be, at least so many as wanted if the system allows the open files."""
    if sys.platform == "win32":  # it has no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + FILES:
        soft = wanted + FILES if hard == resource.RLIM_INFINITY else min(wanted + FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(LEAST, min(wanted, soft - FILES))
