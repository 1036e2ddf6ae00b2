"""Run an application on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE = 10  # seconds for running answers at shutdown
CONNECTIONS = 500  # at the same time; further requests get status 503


class Connection(H11Protocol):
    """A connection that is closed if a request takes too long to arrive; uvicorn only closes idle ones.

    Against clients that read slowly, or are many, use a reverse proxy."""

    asking = 15.0  # seconds for a request to arrive
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._limit()

    def handle_events(self) -> None:
        super().handle_events()
        self._limit()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._limit()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request, or close the connection within another answer."""
        if self.cycle is None:
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _limit(self) -> None:
        """Start the timer when a request is expected, and stop it when one has arrived."""
        waits = self.cycle is None or self.cycle.response_complete or self.cycle.more_body
        if waits and self._timer is None:
            self._timer = self.loop.call_later(self.asking, self.transport.abort)
        elif not waits and self._timer is not None:
            self._timer.cancel()
            self._timer = None


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raise OSError."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def address_of(listening: socket.socket) -> str:
    """Return a listening socket's URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def server_config(
    app: ASGIApp | Callable[[], ASGIApp], workers: int = 1, connections: int = CONNECTIONS
) -> uvicorn.Config:
    """Return uvicorn's configuration. app: for several workers, a function that makes it."""
    http: Any = Connection
    return uvicorn.Config(
        app, http=http, factory=workers > 1, workers=workers, limit_concurrency=connections, log_config=None,
        access_log=False, server_header=False, ws="none", lifespan="on", proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip


def end_with_parent() -> None:
    """Make this worker exit with its parent."""

    def watch() -> None:
        if (parent := parent_process()) is not None:
            wait([parent.sentinel])
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
