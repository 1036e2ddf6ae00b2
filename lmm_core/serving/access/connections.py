"""Limits for connections: how many, from whom, and for how long.

uvicorn limits only the silence after an answer. It has no time-out for a request that comes
byte by byte or an answer that is not read, and no limit that keeps connections below the
number of open files.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..log import Say
from .rates import counted_as

FULL = b'{"error": "Many are asking just now. Try again in a few seconds."}'
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(FULL), FULL)
)


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits for the number of connections, and for the time that each may take.

    most: connections at the same time, of which one address gets `share`; asking: seconds until
    a request has arrived completely; reading: seconds in which a reader has to take `least`
    bytes of an answer, or all of it."""

    most: int = 1000
    asking: float = 15.0
    reading: float = 20.0
    least: int = 20_000

    @property
    def share(self) -> int:
        """Return the number of connections that one address may have."""
        return max(2, self.most // 4)


class Connections:
    """The open connections of a server.

    When there are too many, the one that has waited longest for its request makes room, since an
    honest reader's request comes at once. proxies: addresses that stand for many readers and may
    have any number."""

    def __init__(self, limits: ConnectionLimits, proxies: Sequence[str], log: Say) -> None:
        self.limits, self.log = limits, log
        self._proxies = proxies
        self._of: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()
        self._waiting: dict[Connection, None] = {}  # those waiting for a request, the longest first

    def __len__(self) -> int:
        return len(self._of)

    def let_in(self, one: Connection, address: str) -> bool:
        """Count a connection if there is room or room can be made, and return True then."""
        who = counted_as(address, self._proxies)
        if who and self._counts[who] >= self.limits.share and not self._make_room(who):
            return self._full(f"one address has {self.limits.share} connections")
        if len(self) >= self.limits.most and not self._make_room():
            return self._full(f"there are {self.limits.most} connections")
        self._of[one] = who
        self._counts[who] += 1
        return True

    def _full(self, why: str) -> bool:
        self.log(f"too many at once: {why}, and all are being answered; another one was refused")
        return False

    def _make_room(self, who: str = "") -> bool:
        """End the connection that has waited longest, of one address if it is named."""
        oldest = next((one for one in self._waiting if not who or self._of[one] == who), None)
        if oldest is None:
            return False
        self.log("many connections: those that send no request are closed, the oldest first")
        self.forget(oldest)
        oldest.end()
        return True

    def wait(self, one: Connection, waits: bool) -> None:
        """Note whether a connection waits for a request from now on."""
        if not waits:
            self._waiting.pop(one, None)
        elif one in self._of:
            self._waiting.setdefault(one)

    def forget(self, one: Connection) -> None:
        """Stop counting a connection."""
        self._waiting.pop(one, None)
        if one in self._of:
            who = self._of.pop(one)
            self._counts[who] -= 1
            if not self._counts[who]:
                del self._counts[who]


class Connection(H11Protocol):
    """A connection that is ended if its request, or the reader of its answer, is too slow."""

    def __init__(self, others: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._others, self._limits = others, others.limits
        self._until: asyncio.TimerHandle | None = None  # limits a request
        self._check: asyncio.TimerHandle | None = None  # limits an answer that is not read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the connection in, or tell it that there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that we learn about any byte that is not read
        if self._others.let_in(self, self.client[0] if self.client else ""):
            self._note()
        else:
            transport.write(REFUSAL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._others.forget(self)
        self._stop(self._until, self._check)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what has arrived."""
        super().handle_events()
        self._note()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the reader of the answer."""
        super().on_response_complete()
        self._note()

    def pause_writing(self) -> None:
        """Watch whether the answer is being read."""
        super().pause_writing()
        self._watch()
        self._note()

    def resume_writing(self) -> None:
        """Note that the answer was read."""
        super().resume_writing()
        self._stop(self._check)
        self._note()

    def send_400_response(self, msg: str) -> None:
        """Tell that a request is invalid, unless an answer is being sent.

        In the middle of an answer nobody would understand it, and h11 would not send it."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.end()

    def end(self) -> None:
        """Close the connection at once, whatever has not been sent."""
        self.transport.abort()

    def _note(self) -> None:
        """Note whether the connection waits for a request, and start or stop its time."""
        waits = not (self.transport.is_closing() or self.flow.write_paused or self._is_answered())
        if not waits:
            self._stop(self._until)
            self._until = None
        elif self._until is None:
            self._until = self.loop.call_later(self._limits.asking, self.end)
        self._others.wait(self, waits)

    def _is_answered(self) -> bool:
        """Return True if a request has arrived completely and its answer is not finished."""
        return self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)

    def _watch(self) -> None:
        size = self.transport.get_write_buffer_size()
        self._stop(self._check)
        self._check = self.loop.call_later(self._limits.reading, self._end_unless_taken, size)

    def _end_unless_taken(self, size: int) -> None:
        """End the connection if too little of the waiting data has been read."""
        if self.transport.get_write_buffer_size() > size - self._limits.least:
            self.end()
        else:
            self._watch()

    @staticmethod
    def _stop(*timers: asyncio.TimerHandle | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()
