"""Running the application on this machine."""

from __future__ import annotations

import gc
import socket
from collections.abc import Sequence

import uvicorn
from starlette.applications import Starlette

GRACE = 10  # seconds that running answers have when the server is to stop
YOUNG = 10_000  # objects after which Python looks for garbage; 50 answers at once have some thousands


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0: any that is free. Raises OSError."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def address_of(listening: socket.socket) -> str:
    """The address of a socket that listens, for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def make_server(app: Starlette, proxies: Sequence[str]) -> uvicorn.Server:
    """What serves the application, until the process is told to stop (SIGINT, SIGTERM): then
    nobody new is let in, and running answers are finished. proxies: addresses of those that
    say who asks (X-Forwarded-For)."""
    settle_garbage()
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="on",
        proxy_headers=bool(proxies), forwarded_allow_ips=",".join(proxies), timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    return uvicorn.Server(config)


def settle_garbage() -> None:
    """Have Python look for garbage less often, and not in what is loaded by now: to look
    through all modules takes longer than ten answers, which wait meanwhile."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
