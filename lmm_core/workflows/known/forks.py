"""Work that forked processes share where there is much of it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...errors import LmmError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ENOUGH = 1_000_000  # bytes for a process: less is done sooner than shared
MOST = 8  # processes: a container may show more processors than it may use, and each process takes memory
_THREADS = Path("/proc/self/task")  # of Linux, a folder for each
Thing = TypeVar("Thing")
Found = TypeVar("Found")


def find_in_all(things: Sequence[Thing], find: Callable[[Thing], Found], size: int) -> Iterator[Found]:
    """Yield what is found in each of some things, in their order. size: of all, in bytes; find: changes nothing, and
    finds what can be pickled.

    On Linux, as many processes as there are processors do it, if there is enough to do. What one of them fails at is
    left to this process, so that errors are raised in order."""
    count = min(_processors(), size // ENOUGH, len(things))
    helpers = _helpers([things[at::count] for at in range(count)], find) if count > 1 else []
    try:
        for at, thing in enumerate(things):
            found = helpers[at % count].receive() if helpers else []
            yield found[0] if found else find(thing)
    finally:
        _end(helpers)


def _helpers(shares: Sequence[Sequence[Thing]], find: Callable[[Thing], Found]) -> list[_Helper[Thing, Found]]:
    """Return a process for each share, or none where the system gives no more."""
    helpers: list[_Helper[Thing, Found]] = []
    try:
        for share in shares:
            helpers.append(_Helper(share, find))
    except OSError:
        _end(helpers)
        return []
    return helpers


def _end(helpers: Sequence[_Helper[Thing, Found]]) -> None:
    for helper in helpers:
        helper.release()
    for helper in helpers:  # when all are released, since each holds the pipes of those before it
        helper.wait()


def _processors() -> int:
    """Return how many processes may work at once: 1 if none may be forked."""
    if sys.platform != "linux" or not may_fork():
        return 1
    return min(len(os.sched_getaffinity(0)), MOST)


def may_fork() -> bool:
    """Return True on Linux in a process without threads: what one of them has locked would stay locked in a fork."""
    return sys.platform == "linux" and _THREADS.is_dir() and len([*_THREADS.iterdir()]) == 1


class _Helper(Generic[Thing, Found]):
    """A process that finds something in each of some things. It ends when nobody reads what it finds."""

    def __init__(self, things: Sequence[Thing], find: Callable[[Thing], Found]) -> None:
        from multiprocessing import get_context  # loads much

        forking: Any = get_context("fork")  # of which Windows has none
        self._reader, writer = forking.Pipe(duplex=False)
        self._process = forking.Process(target=_work, args=(things, find, self._reader, writer), daemon=True)
        self._process.start()
        writer.close()  # here: the process has its own, with which the pipe ends

    def receive(self) -> list[Found]:
        """Return what was found next, alone in a list; [] if the process has ended before."""
        try:
            return [self._reader.recv()]
        except (EOFError, OSError):
            return []

    def release(self) -> None:
        """Read nothing more, so that the process ends."""
        self._reader.close()

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.join()


def _work(things: Sequence[Thing], find: Callable[[Thing], Found], reader: Connection, writer: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process ends this one
    gc.freeze()  # what is there already is not looked through, which would copy it
    reader.close()
    with suppress(LmmError, OSError), writer:
        for thing in things:
            writer.send(find(thing))
