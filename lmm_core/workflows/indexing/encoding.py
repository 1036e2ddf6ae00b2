"""Files that become chunks, in other processes if there are many."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from ...index.chunks import with_words
from ...index.encoding import Encoder, EncodingModel
from ...index.workers import Workers
from ...logging import ListLogger, LoggerBase, Report
from ...markdown.files import MarkdownFile
from ...models.embedders.embedder import Embedder, SparseEncoder
from ...settings.project import Project
from .documents import encode_document
from .waiting import Waiting

ENOUGH = 3_000_000  # bytes of files: with less, other processes are not ready much before the work is done
Made = tuple[Waiting | None, list[Report]]  # the chunks of a file, and what is to be reported of it


class Task(NamedTuple):
    """A file to be cut; see `encode_document`. fingerprint: to be recorded with its chunks."""

    file: MarkdownFile
    project: Project
    fingerprint: str
    is_annotated: bool


def encode_files(
    tasks: Sequence[Task], encoder: Encoder, workers: Workers, logger: LoggerBase
) -> AsyncIterator[Waiting]:  # fmt: skip
    """Return the chunks of some files, in their order; a wrong setting in a header is reported.

    Other processes begin at once. An embedding model fits chunks to its window, and cannot be sent to them: with one,
    this process cuts all files."""
    begun: list[Future[Made] | None] = [None] * len(tasks)
    if workers.most > 1 and encoder.embedder is None and sum(len(task.file.data) for task in tasks) > ENOUGH:
        workers.start()
        begun = [workers.submit(_encode, task, encoder.encoding, None, encoder.plain) for task in tasks]
    return _reported(deque(zip(tasks, begun, strict=True)), encoder, logger)


async def _reported(
    begun: deque[tuple[Task, Future[Made] | None]], encoder: Encoder, logger: LoggerBase
) -> AsyncIterator[Waiting]:  # fmt: skip
    while begun:  # what is done needs no memory any more
        document, reports = await _made(*begun.popleft(), encoder)
        for report in reports:
            logger.report(report)
        if document is not None:
            yield document


async def _made(task: Task, begun: Future[Made] | None, encoder: Encoder) -> Made:
    if begun is not None:
        with suppress(BrokenProcessPool):  # a process was ended from outside, perhaps for lack of memory
            return await asyncio.wrap_future(begun)
    return _encode(task, encoder.encoding, encoder.embedder, encoder.plain)


def _encode(
    task: Task, encoding: EncodingModel | None, embedder: Embedder | None, words: SparseEncoder | None
) -> Made:  # fmt: skip
    """Return what is made of a file: None for a wrong setting in its header. words: see `Encoder.plain`."""
    kept = ListLogger()
    made = encode_document(task.file, task.project, encoding, embedder, task.is_annotated, kept)
    if made is None:
        return None, kept.reports
    return Waiting(replace(made, chunks=with_words(made.chunks, words)), task.fingerprint), kept.reports
