"""Cutting texts into snippets, and weighing their words, in other processes if there is much to cut."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ..index.encoding import Encoder, EncodingModel
from ..models.embedders.bm25 import Bm25Encoder
from ..models.embedders.embedder import Sparse
from ..models.languages.recognize import NotPlainError, recognize_language, recognize_plainly
from .points import texts_of
from .snippets import Snippet, slice_text

INLINE = 1_000_000  # characters that are cut in this process before others are started
SAFE_PATH = "PYTHONSAFEPATH"  # keeps Python from importing modules of the working folder


class CutSnippet(NamedTuple):
    """A snippet, and the BM25 vector of its words if it was made at once."""

    snippet: Snippet
    words: Sparse | None


@dataclass
class TextCutter:
    """Cuts the texts of an index, by at most `workers` other processes.

    language: of texts that do not name theirs; "" if it is to be recognized; encoder: that of the
    index, if it is known: a snippet's BM25 vector takes about as long as cutting it."""

    index: str
    workers: int = 1
    language: str = ""
    encoder: Encoder | None = None
    _pool: ProcessPoolExecutor | None = field(default=None, init=False)
    _seen: int = field(default=0, init=False)  # characters
    _had_safe_path: bool = field(default=False, init=False)

    @property
    def in_parallel(self) -> bool:
        """True once other processes cut the texts."""
        return self._pool is not None

    def cut(self, text: str, doc_path: str) -> Awaitable[list[CutSnippet] | None]:
        """Return the snippets of a text, to be awaited if other processes cut it.

        It is None if these cannot tell the language, so that `cut_here` has to."""
        loop = asyncio.get_running_loop()
        self._seen += len(text)
        if self.workers > 1 and self._pool is None and self._seen > INLINE:
            self._had_safe_path = SAFE_PATH in os.environ
            os.environ.setdefault(SAFE_PATH, "1")  # the folder may be somebody else's
            self._pool = _worker_pool(self.workers)
        if self._pool is not None:
            snippets = loop.run_in_executor(self._pool, _cut_plain, self._work, text, doc_path)
            snippets.add_done_callback(_note_failure)
            return snippets
        made: asyncio.Future[list[CutSnippet] | None] = loop.create_future()
        made.set_result(self.cut_here(text, doc_path))
        return made

    def cut_here(self, text: str, doc_path: str) -> list[CutSnippet]:
        """Return the snippets of a text, cut in this process."""
        return _cut(self._work, text, doc_path)

    @property
    def _work(self) -> _Work:
        bm25, encoding = (self.encoder.sparse, self.encoder.encoding) if self.encoder else (None, None)
        language = bm25.language if isinstance(bm25, Bm25Encoder) else None
        return _Work(self.index, self.language, encoding, language)

    def stop(self) -> None:
        """End the other processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            if not self._had_safe_path:
                del os.environ[SAFE_PATH]


@dataclass(frozen=True, slots=True)
class _Work:
    """What has to be done with all texts.

    usual: the language of texts that name none; bm25: that of a BM25 encoder, None if there is none."""

    index: str
    usual: str
    encoding: EncodingModel | None
    bm25: str | None


def _cut_plain(work: _Work, text: str, doc_path: str) -> list[CutSnippet] | None:
    try:
        return _cut(work, text, doc_path, recognize_plainly)
    except NotPlainError:
        return None


def _cut(
    work: _Work, text: str, doc_path: str, recognize: Callable[[str], str] = recognize_language
) -> list[CutSnippet]:
    """Return the snippets of a text, with their BM25 vectors if the encoding has them."""
    snippets = slice_text(text, doc_path, work.index, language=work.usual, recognize=recognize)
    if work.encoding is None or work.bm25 is None:
        return [CutSnippet(one, None) for one in snippets]
    texts = [texts_of(one, work.encoding).sparse for one in snippets]
    words = _bm25(work.bm25).encode(texts, [one.language for one in snippets])
    return list(map(CutSnippet, snippets, words))


_bm25 = cache(Bm25Encoder)


def _worker_pool(workers: int) -> ProcessPoolExecutor:
    """Return processes that cut texts.

    They are started anew and not forked, because a store has threads. With SAFE_PATH set, they
    import no module from the working folder."""
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin_work)


def _note_failure(snippets: asyncio.Future[list[CutSnippet] | None]) -> None:
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
