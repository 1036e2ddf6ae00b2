"""Other processes that cut texts where there is much to cut.

They are started anew and not forked, because a store has threads. They import the program that is run, as
`multiprocessing` does, and no module of the working folder, which may be somebody else's."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from importing modules of the working folder
MOST = 4  # processes: each takes about 35 MB, and storing is slower than four of them
Given = ParamSpec("Given")
Result = TypeVar("Result")
Task = TypeVar("Task")


def most_workers() -> int:
    """Return how many processes are worth having."""
    return min(os.cpu_count() or 1, MOST)


@dataclass
class Workers:
    """At most `most` other processes."""

    most: int = 1
    _pool: ProcessPoolExecutor | None = field(default=None, init=False)
    _had_safe_path: bool = field(default=False, init=False)

    @property
    def are_started(self) -> bool:
        """True once there are other processes."""
        return self._pool is not None

    def start(self) -> None:
        """Start the other processes, which do what is submitted from now on."""
        from concurrent.futures import ProcessPoolExecutor  # most runs have too little to do for it
        from multiprocessing import get_context

        self._had_safe_path = SAFE_PATH in os.environ
        os.environ.setdefault(SAFE_PATH, "1")
        self._pool = ProcessPoolExecutor(self.most, get_context("spawn"), begin_work)
        for _ in range(self.most):  # the pool itself would start each when there is work for it
            self.submit(os.getpid)

    def submit(self, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Future[Result]:
        """Return what a function of a module returns, once another process has called it.

        The future has BrokenExecutor if a process was ended from outside."""
        assert self._pool is not None
        try:
            return self._pool.submit(work, *given, **named)
        except BrokenExecutor as error:  # it was ended before this was submitted
            failed = Future[Result]()
            failed.set_exception(error)
            return failed

    def begin(self, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> asyncio.Future[Result]:
        """Return what a function of a module returns, as `submit` does, to be awaited."""
        made = asyncio.wrap_future(self.submit(work, *given, **named))
        made.add_done_callback(_note_failure)
        return made

    def stop(self) -> None:
        """End the other processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            if not self._had_safe_path:
                del os.environ[SAFE_PATH]


def _note_failure(made: asyncio.Future[Any]) -> None:
    """Take note of a failure, so that asyncio does not report it.

    If a process was ended, all futures that wait for one fail."""
    if not made.cancelled():
        made.exception()


async def in_order(
    begun: AsyncIterable[tuple[Task, int, asyncio.Future[Result]]], most: int
) -> AsyncIterator[tuple[Task, asyncio.Future[Result]]]:  # fmt: skip
    """Yield tasks in their order, each with its result to be awaited, while others are worked on in advance.

    begun: tasks with their sizes; most: the size of all that is in advance. So it takes no more memory, and the
    processes that are ahead leave the processor to the one that uses what they make."""
    ahead: deque[tuple[Task, int, asyncio.Future[Result]]] = deque()
    size = 0
    async for task, own_size, made in begun:
        ahead.append((task, own_size, made))
        size += own_size
        while ahead and (size > most or ahead[0][2].done()):
            task, own_size, made = ahead.popleft()
            size -= own_size
            yield task, made
    for task, _, made in ahead:
        yield task, made


def begin_work() -> None:
    """Leave an interrupt to the program, and let this process end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
