"""Several processes that serve one socket, watched by the one that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from socket import socket
from types import FrameType

LOOK = 0.5  # seconds between looks at the signals
YOUNG = 5.0  # seconds; a worker that ends younger is replaced only after
PAUSE = 1.0  # seconds
LONGEST = 15.0  # seconds that workers have to end

Work = Callable[[socket], None]


class Workers:
    """The workers of a server.

    work: what each does with the socket, a function that can be pickled; say: is told what happens to them."""

    def __init__(self, count: int, work: Work, listening: socket, say: Callable[[str], None]) -> None:
        self._count, self._work, self._listening, self._say = count, work, listening, say
        self._since: dict[SpawnProcess, float] = {}
        self._told_to_end = 0

    def run(self) -> int:
        """Serve until the process is told to end. Return the signal that told it."""
        before = {sign: signal.signal(sign, self._end) for sign in (signal.SIGINT, signal.SIGTERM)}
        try:
            for _ in range(self._count):
                self._start()
            while not self._told_to_end:
                wait([worker.sentinel for worker in self._since], LOOK)
                self._replace_ended()
        finally:
            self._end_all()
            for sign, handler in before.items():
                signal.signal(sign, handler)
        return self._told_to_end

    def _end(self, sign: int, _frame: FrameType | None) -> None:
        self._told_to_end = sign

    def _start(self) -> None:
        worker = get_context("spawn").Process(target=run_worker, args=(self._work, self._listening))
        worker.start()
        self._since[worker] = time.monotonic()

    def _replace_ended(self) -> None:
        for worker in [one for one in self._since if one.exitcode is not None]:
            lived = time.monotonic() - self._since.pop(worker)
            if self._told_to_end:
                return
            self._say(f"a worker has ended ({_cause(worker.exitcode)}); another one takes its place")
            if lived < YOUNG:
                time.sleep(PAUSE)
            self._start()

    def _end_all(self) -> None:
        """Let all workers finish what they are at, for some time."""
        for worker in self._since:
            worker.terminate()
        until = time.monotonic() + LONGEST
        for worker in self._since:
            worker.join(max(0.0, until - time.monotonic()))
            if worker.exitcode is None:
                worker.kill()
                worker.join()


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {-status}"
    return f"status {status}"


def run_worker(work: Work, listening: socket) -> None:
    """Do a worker's work, which ends with the process that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(listening)
    except KeyboardInterrupt:  # Ctrl-C reaches all processes of a terminal, and the work has ended by then
        return


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
