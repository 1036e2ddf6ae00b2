"""Cutting texts into snippets, in other processes if there is much to cut."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from .snippets import Snippet, slice_text

INLINE = 1_000_000  # characters that are cut in this process before others are started
SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from importing modules of the working folder


@dataclass
class TextCutter:
    """Cuts the texts of an index, by at most `workers` other processes.

    language: of texts that do not name theirs; "" if it is to be recognized."""

    index: str
    workers: int = 1
    language: str = ""
    _pool: ProcessPoolExecutor | None = field(default=None, init=False)
    _seen: int = field(default=0, init=False)  # characters
    _had_safe_path: bool = field(default=False, init=False)

    @property
    def in_parallel(self) -> bool:
        """True once other processes cut the texts."""
        return self._pool is not None

    def cut(self, text: str, doc_path: str) -> Awaitable[list[Snippet]]:
        """Return the snippets of a text, to be awaited if other processes cut it."""
        loop = asyncio.get_running_loop()
        self._seen += len(text)
        if self.workers > 1 and self._pool is None and self._seen > INLINE:
            self._had_safe_path = SAFE_PATH in os.environ
            os.environ.setdefault(SAFE_PATH, "1")  # the folder may be somebody else's
            self._pool = _worker_pool(self.workers)
        if self._pool is not None:
            snippets = loop.run_in_executor(self._pool, self._slice, text, doc_path)
            snippets.add_done_callback(_note_failure)
            return snippets
        made: asyncio.Future[list[Snippet]] = loop.create_future()
        made.set_result(self._slice(text, doc_path))
        return made

    @property
    def _slice(self) -> Callable[[str, str], list[Snippet]]:
        return partial(slice_text, index=self.index, language=self.language)

    def stop(self) -> None:
        """End the other processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            if not self._had_safe_path:
                del os.environ[SAFE_PATH]


def _worker_pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that cut texts.

    They are started anew and not forked, because a store has threads. With SAFE_PATH set, they
    import no module from the working folder."""
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_work)


def _note_failure(snippets: asyncio.Future[list[Snippet]]) -> None:
    """Take note of a failure, so that asyncio does not report it.

    If a process was ended, all futures that wait for one fail."""
    if not snippets.cancelled():
        snippets.exception()


def _begin_work() -> None:
    """Leave an interrupt to the program, and let this process end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
