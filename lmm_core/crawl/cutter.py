"""Cutting texts into snippets, and weighing their words, in other processes if there is much to cut."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ..index.encoding import Encoder, EncodingModel
from ..index.workers import Workers
from ..models.embedders.bm25 import Bm25Encoder
from ..models.embedders.embedder import Sparse
from ..models.languages.recognize import NotPlainError, recognize_language, recognize_plainly
from .points import texts_of
from .snippets import Snippet, slice_text

INLINE = 1_000_000  # characters that are cut in this process before others are started


class CutSnippet(NamedTuple):
    """A snippet, and the BM25 vector of its words if it was made at once."""

    snippet: Snippet
    words: Sparse | None


@dataclass
class TextCutter:
    """Cuts the texts of an index, in other processes if there may be more than one.

    language: of texts that do not name theirs; "" if it is to be recognized; encoder: that of the
    index, if it is known: a snippet's BM25 vector takes about as long as cutting it."""

    index: str
    workers: Workers = field(default_factory=Workers)
    language: str = ""
    encoder: Encoder | None = None
    _seen: int = field(default=0, init=False)  # characters

    def cut(self, text: str, doc_path: str) -> Awaitable[list[CutSnippet] | None]:
        """Return the snippets of a text, to be awaited if other processes cut it.

        It is None if these cannot tell the language, so that `cut_here` has to."""
        self._seen += len(text)
        if self.workers.most > 1 and not self.workers.are_started and self._seen > INLINE:
            self.workers.start()
        if self.workers.are_started:
            snippets = asyncio.wrap_future(self.workers.submit(_cut_plain, self._work, text, doc_path))
            snippets.add_done_callback(_note_failure)
            return snippets
        made: asyncio.Future[list[CutSnippet] | None] = asyncio.get_running_loop().create_future()
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


def _note_failure(snippets: asyncio.Future[list[CutSnippet] | None]) -> None:
    """Take note of a failure, so that asyncio does not report it.

    If a process was ended, all futures that wait for one fail."""
    if not snippets.cancelled():
        snippets.exception()
