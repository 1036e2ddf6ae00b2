"""Files that become chunks, in other processes if there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from ...index.encoding import EncodingModel
from ...index.workers import Workers
from ...logging import ListLogger, LoggerBase, Report
from ...markdown.files import MarkdownFile
from ...models.embedders.embedder import Embedder
from ...settings.project import Project
from .documents import encode_document
from .waiting import Waiting

ENOUGH = 3_000_000  # bytes of files: with less, other processes are not ready much before the work is done


class Task(NamedTuple):
    """A file to be cut; see `encode_document`. fingerprint: to be recorded with its chunks."""

    file: MarkdownFile
    project: Project
    fingerprint: str
    is_annotated: bool


def encode_files(
    tasks: Sequence[Task],
    encoding: EncodingModel,
    embedder: Embedder | None,
    workers: Workers,
    logger: LoggerBase,
) -> Iterator[Waiting]:
    """Yield the chunks of some files, in their order; a wrong setting in a header is reported.

    An embedding model fits chunks to its window, and cannot be sent to other processes: with one, this process cuts
    them all."""
    if workers.most > 1 and embedder is None and sum(len(task.file.data) for task in tasks) > ENOUGH:
        made = _encode_there(tasks, encoding, workers)
    else:
        made = (_encode(task, encoding, embedder) for task in tasks)
    for document, reports in made:
        for report in reports:
            logger.report(report)
        if document is not None:
            yield document


def _encode_there(
    tasks: Sequence[Task], encoding: EncodingModel, workers: Workers
) -> Iterator[tuple[Waiting | None, list[Report]]]:
    workers.start()
    futures = [workers.submit(_encode, task, encoding, None) for task in tasks]
    for task, future in zip(tasks, futures, strict=True):
        try:
            yield future.result()
        except BrokenProcessPool:  # a process was ended from outside, perhaps for lack of memory
            yield _encode(task, encoding, None)


def _encode(task: Task, encoding: EncodingModel, embedder: Embedder | None) -> tuple[Waiting | None, list[Report]]:
    """Return a file's chunks, None for a wrong setting in its header, and what is to be reported of it."""
    kept = ListLogger()
    made = encode_document(task.file, task.project, encoding, embedder, task.is_annotated, kept)
    return Waiting(made, task.fingerprint) if made else None, kept.reports
