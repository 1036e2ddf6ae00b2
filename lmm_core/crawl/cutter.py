"""Cutting texts into snippets that are ready to be stored, in other processes if there is much to cut."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..index.cutting.workers import Workers
from ..index.encoding import Encoder, EncodingModel, weigh_words
from ..models.embedders.embedder import Sparse, SparseEncoder
from .points import as_text, snippet_from, texts_of
from .snippets import Snippet, slice_text, write_snippet

INLINE = 1_000_000  # bytes of text that are cut in this process; if there is more, others are started


class CutText(NamedTuple):
    """A text to be cut.

    source: its file; is_new: True if nothing of this file can be stored yet, so that the files of all its
    snippets are to be written."""

    source: str
    text: str
    is_new: bool = False


class CutSnippet(NamedTuple):
    """A snippet, ready to be stored.

    id: its own; source: its file; text: all of it, see `as_text`; words: the BM25 vector of its words
    if it was made at once; has_file: True if its file is written."""

    id: str
    source: str
    text: str
    language: str
    words: Sparse | None
    has_file: bool

    @property
    def snippet(self) -> Snippet:
        """The snippet itself."""
        return snippet_from(self.text)


Cut = list[list[CutSnippet]]  # the snippets of each text


@dataclass
class TextCutter:
    """Cuts the texts of an index, in other processes if there may be more than one.

    folder: where the snippets' files are, None if none are written; language: of texts that do not name
    theirs; "" if it is to be recognized; encoder: that of the index, if it is known: a snippet's BM25
    vector takes about as long as cutting it."""

    index: str
    workers: Workers = field(default_factory=Workers)
    language: str = ""
    encoder: Encoder | None = None
    folder: Path | None = None
    _foreseen: int = field(default=0, init=False)  # bytes

    def foresee(self, size: int) -> None:
        """Take note of a text of so many bytes that is going to be cut.

        Files are found before they are read, so that other processes start while this one has not yet begun to cut."""
        self._foreseen += size
        if self.workers.most > 1 and not self.workers.are_started and self._foreseen > INLINE:
            self.workers.start()

    def cut(self, texts: Sequence[CutText]) -> asyncio.Future[Cut]:
        """Return the snippets of texts, to be awaited if other processes cut them."""
        if self.workers.are_started:
            return self.workers.begin(_cut_all, self._work, texts)
        made: asyncio.Future[Cut] = asyncio.get_running_loop().create_future()
        made.set_result(_cut_all(self._work, texts))
        return made

    @property
    def _work(self) -> _Work:
        words, encoding = (self.encoder.plain, self.encoder.encoding) if self.encoder else (None, None)
        return _Work(self.index, self.language, encoding, words, self.folder and self.folder.absolute())


@dataclass(frozen=True, slots=True)
class _Work:
    """What has to be done with all texts.

    usual: the language of texts that name none; words: see `Encoder.plain`."""

    index: str
    usual: str
    encoding: EncodingModel | None
    words: SparseEncoder | None
    folder: Path | None


def _cut_all(work: _Work, texts: Sequence[CutText]) -> Cut:
    return [_cut(work, text) for text in texts]


def _cut(work: _Work, text: CutText) -> list[CutSnippet]:
    """Return the snippets of a text, with their BM25 vectors if the encoding has them; write those of a new file."""
    snippets = slice_text(text.text, text.source, work.index, language=work.usual)
    has_files = text.is_new and work.folder is not None
    if has_files and work.folder is not None:
        for one in snippets:
            write_snippet(work.folder, one)
    words = _words_of(work, snippets)
    return [
        CutSnippet(one.id, text.source, as_text(one), one.language, of_one, has_files)
        for one, of_one in zip(snippets, words, strict=True)
    ]


def _words_of(work: _Work, snippets: Sequence[Snippet]) -> Sequence[Sparse | None]:
    if work.encoding is None:
        return [None] * len(snippets)
    return weigh_words(work.words, [texts_of(one, work.encoding) for one in snippets])
