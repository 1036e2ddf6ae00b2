"""Log messages with a rate limit per kind.

Clients must not be able to fill a disk, so excess messages are only counted."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from ..logging import printable

EVERY = 60.0  # seconds of a rate limit's window
LONGEST = 4_000  # characters of a message
REQUESTS = 30  # lines per kind of request and window


@dataclass
class _Tally:
    since: float
    printed: int = 0
    left_out: int = 0


class Log:
    """A rate-limited log. say: prints a message."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._tallies: dict[str, _Tally] = {}
        self._lock = threading.Lock()

    def __call__(self, message: str, kind: str = "", most: int = 1) -> None:
        """Print or count a message. kind: by default the text before the first colon; most: per minute."""
        with self._lock:
            self._report_old()
            kind = kind or message.partition(": ")[0]
            tally = self._tallies.setdefault(kind, _Tally(time.monotonic()))
            if tally.printed < most:
                tally.printed += 1
                self._say(_one_entry(message))
            else:
                tally.left_out += 1

    def _report_old(self) -> None:
        now = time.monotonic()
        for kind in [kind for kind, tally in self._tallies.items() if now - tally.since >= EVERY]:
            if left_out := self._tallies.pop(kind).left_out:
                self._say(f"{_one_entry(kind)[:100]} … and {left_out:,} more like this in the last minute")


class LibraryHandler(logging.Handler):
    """A handler for libraries' warnings and errors.

    Only internal errors are logged with a traceback, not those caused by clients or the system."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; its kind is the logging line and the type of error."""
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage().strip()
        if error is not None:
            message = message.partition("\n")[0]
            is_outside = isinstance(error, OSError) or str(error).startswith("Invalid file descriptor")
            shown = [f"{type(error).__name__}: {error}"] if is_outside else traceback.format_exception(error)
            message += "\n" + "".join(shown)[-LONGEST:].rstrip()
        self.log(f"{record.name}: {message}", f"{record.name} {record.lineno} {type(error).__name__}")


def _one_entry(message: str) -> str:
    """Indent continuation lines, so that a message cannot imitate an entry."""
    return printable(message[:LONGEST]).strip().replace("\n", "\n    ")
