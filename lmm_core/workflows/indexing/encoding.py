"""Files that become chunks, in other processes if there are many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import NamedTuple

from ...index.chunks import with_words
from ...index.encoding import Encoder, EncodingModel
from ...index.workers import Workers, in_order
from ...logging import ListLogger, LoggerBase, Report
from ...markdown.files import MarkdownFile
from ...models.embedders.embedder import Embedder, SparseEncoder
from ...settings.project import Project
from .documents import encode_document
from .waiting import Waiting

ENOUGH = 3_000_000  # bytes of files: with less, other processes are not ready much before the work is done
IN_ADVANCE = 1_000_000  # bytes of files that are being cut while others are written
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

    Other processes are started at once. An embedding model fits chunks to its window, and cannot be sent to them:
    with one, this process cuts all files."""
    if workers.most > 1 and encoder.embedder is None and sum(len(task.file.data) for task in tasks) > ENOUGH:
        workers.start()
        return _reported(_encode_there(tasks, encoder, workers), logger)
    return _reported(_encode_here(tasks, encoder), logger)


async def _reported(made: AsyncIterator[Made], logger: LoggerBase) -> AsyncIterator[Waiting]:
    async for document, reports in made:
        for report in reports:
            logger.report(report)
        if document is not None:
            yield document


async def _encode_there(tasks: Sequence[Task], encoder: Encoder, workers: Workers) -> AsyncIterator[Made]:
    async def begun() -> AsyncIterator[tuple[Task, int, asyncio.Future[Made]]]:
        for task in tasks:
            yield task, len(task.file.data), workers.begin(_encode, task, encoder.encoding, None, encoder.plain)

    async for task, made in in_order(begun(), IN_ADVANCE):
        try:
            yield await made
        except BrokenExecutor:  # a process was ended from outside, perhaps for lack of memory
            yield _encode(task, encoder.encoding, None, encoder.plain)


async def _encode_here(tasks: Sequence[Task], encoder: Encoder) -> AsyncIterator[Made]:
    for task in tasks:
        yield _encode(task, encoder.encoding, encoder.embedder, encoder.plain)


def _encode(
    task: Task, encoding: EncodingModel | None, embedder: Embedder | None, words: SparseEncoder | None
) -> Made:  # fmt: skip
    """Return what is made of a file: None for a wrong setting in its header. words: see `Encoder.plain`."""
    kept = ListLogger()
    made = encode_document(task.file, task.project, encoding, embedder, task.is_annotated, kept)
    if made is None:
        return None, kept.reports
    whole = replace(made, chunks=with_words(made.chunks, words))
    return Waiting(whole, task.fingerprint, is_long=embedder is not None), kept.reports
