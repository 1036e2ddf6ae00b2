"""The server's log: it says each kind of thing so often a minute, and then how much more there was.

What anybody can cause as often as they like must not fill a disk.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from ..logging import printable

EVERY = 60.0  # seconds in which a kind of message is said so often
REQUESTS = 30  # lines of one kind of request in that time
LONGEST = 4_000  # characters of a message
LABEL = 100  # characters that say what a kind of message is about
KINDS = 200  # of messages that are told apart in that time; further ones count as one
OTHERS = "other messages"
FULLEST = 100_000  # characters of all messages in that time; what is said often has half of it


class Say(Protocol):
    """Tells the teacher something. kind: messages that count as the same; most: how many of
    them are said in a minute."""

    def __call__(self, message: str, kind: str = "", most: int = 1) -> None:
        """Tell it."""
        ...


@dataclass
class _Kind:
    label: str
    since: float
    said: int = 0
    left_out: int = 0


class Log:
    """What a server says. say: prints a message; clock: seconds."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._kinds: dict[str, _Kind] = {}
        self._since, self._size = clock(), 0
        self._alone = threading.RLock()

    def __call__(self, message: str, kind: str = "", most: int = 1) -> None:
        """See `Say`. Without a kind, it is what stands before the first colon."""
        kind = kind or message.partition(": ")[0]
        with self._alone:
            self.sum_up()
            one, shown = self._kind(kind, _label(message) if most == 1 else kind), _shown(message)
            if one.said < most and self._size + len(shown) <= (FULLEST if most == 1 else FULLEST // 2):
                one.said += 1
                self._size += len(shown)
                self._say(shown)
            else:
                one.left_out += 1

    def _kind(self, kind: str, label: str) -> _Kind:
        """What is known of a kind of message; of further ones than there may be, together."""
        if kind not in self._kinds and len(self._kinds) >= KINDS:
            kind = label = OTHERS
        return self._kinds.setdefault(kind, _Kind(label[:LABEL], self._clock()))

    def sum_up(self, all_of_them: bool = False) -> None:
        """Say how much was left out of the kinds whose time is over, or of all."""
        now = self._clock()
        with self._alone:
            if now - self._since >= EVERY:
                self._since, self._size = now, 0
            over = [kind for kind, one in self._kinds.items() if all_of_them or now - one.since >= EVERY]
            for one in map(self._kinds.pop, over):
                if one.left_out:
                    self._say(f"{one.label} … and {one.left_out:,} more like this in the last minute")

    @contextmanager
    def with_libraries(self) -> Iterator[None]:
        """Within the block, what libraries log as a warning or an error is said here."""
        handler, root = _Libraries(self), logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            self.sum_up(all_of_them=True)


class _Libraries(logging.Handler):
    """Hands on what libraries log: of our own mistakes where they were made, of what strangers
    and the machine cause the message alone."""

    def __init__(self, log: Say) -> None:
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; what is said at one line of a library, of one kind of error, is one kind."""
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage().strip() if error is None else record.getMessage().strip().partition("\n")[0]
        kind = f"{record.name} {record.lineno} {type(error).__name__} {_place(error)}"
        self.log(f"{record.name}: {message}{_told(error)}", kind)


def _told(error: BaseException | None) -> str:
    """An error, and where it was made, unless the machine or the network made it."""
    if error is None:
        return ""
    # asyncio, which found no more open files, comes back to a socket that is closed when we stop
    if isinstance(error, OSError) or str(error).startswith("Invalid file descriptor"):
        return f" ({type(error).__name__}: {error})"
    return "\n" + "".join(traceback.format_exception(error))[-LONGEST:].rstrip()


def _place(error: BaseException | None) -> str:
    """The file and the line where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _label(message: str) -> str:
    return _shown(message).partition("\n")[0][:LABEL]


def _shown(message: str) -> str:
    """A message of one entry: lines after the first are indented, so that no text in it can
    look like another entry."""
    return printable(message[:LONGEST]).strip().replace("\n", "\n    ")
