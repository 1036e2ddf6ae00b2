"""The server's log, which repeats no kind of message more often than so many times a minute.

What anybody can cause as often as they like must not fill a disk, so the rest is counted.
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

EVERY = 60.0  # seconds after which messages of a kind are printed again
REQUESTS = 30  # lines for one kind of request in that time
LONGEST = 4_000  # characters of a message
LABEL = 100  # characters that name a kind of message
KINDS = 200  # kinds told apart in that time; further ones count as one
OTHERS = "other messages"
FULLEST = 100_000  # characters of all messages in that time; repeated ones may use half


class Say(Protocol):
    """Tells the teacher something.

    kind: messages with the same kind count together; most: how many of them are printed a minute."""

    def __call__(self, message: str, kind: str = "", most: int = 1) -> None:
        """Print a message, or count it."""
        ...


@dataclass
class _Kind:
    label: str
    since: float
    said: int = 0
    left_out: int = 0


class Log:
    """The messages of a server. say: prints one; clock: returns seconds."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._kinds: dict[str, _Kind] = {}
        self._since, self._size = clock(), 0
        self._alone = threading.RLock()

    def __call__(self, message: str, kind: str = "", most: int = 1) -> None:
        """See `Say`. Without a kind, the text before the first colon is the kind."""
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
        """Return what is known about a kind of message; kinds beyond the limit count as one."""
        if kind not in self._kinds and len(self._kinds) >= KINDS:
            kind = label = OTHERS
        return self._kinds.setdefault(kind, _Kind(label[:LABEL], self._clock()))

    def sum_up(self, all_of_them: bool = False) -> None:
        """Print how many messages were left out of the kinds whose minute is over, or of all."""
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
        """Within the block, print what libraries log as warnings or errors."""
        handler, root = _Libraries(self), logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            self.sum_up(all_of_them=True)


class _Libraries(logging.Handler):
    """Passes on what libraries log.

    Our own mistakes come with their traceback; what strangers or the machine cause comes as a
    message only."""

    def __init__(self, log: Say) -> None:
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record. One kind is: one line of a library, one type of error, one place."""
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage().strip() if error is None else record.getMessage().strip().partition("\n")[0]
        kind = f"{record.name} {record.lineno} {type(error).__name__} {_place(error)}"
        self.log(f"{record.name}: {message}{_told(error)}", kind)


def _told(error: BaseException | None) -> str:
    """Return an error and its traceback, which is left out if the machine or network caused it."""
    if error is None:
        return ""
    # asyncio, out of open files, returns to a socket that is closed when we stop
    if isinstance(error, OSError) or str(error).startswith("Invalid file descriptor"):
        return f" ({type(error).__name__}: {error})"
    return "\n" + "".join(traceback.format_exception(error))[-LONGEST:].rstrip()


def _place(error: BaseException | None) -> str:
    """Return the file and line where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__) if error else []
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _label(message: str) -> str:
    return _shown(message).partition("\n")[0][:LABEL]


def _shown(message: str) -> str:
    """Return a message as one entry.

    Lines after the first are indented, so that no text can look like another entry."""
    return printable(message[:LONGEST]).strip().replace("\n", "\n    ")
