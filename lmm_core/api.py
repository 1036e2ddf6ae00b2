"""The five functions for programs: annotate, knit, index, search and ask.

Each takes paths, works like its command with the settings of `config.toml`, and returns plain objects. Fatal problems
raise LmmError or OSError; problems of one document or section go to the logger, by default on standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import validated
from .errors import RetrieveError
from .logging import ConsoleLogger, LoggerBase
from .models.chat import run, synchronous

if TYPE_CHECKING:
    from .indexing.passages import Passage
    from .indexing.records import Counts
    from .retrieve.answer import Answer


@dataclass(frozen=True, slots=True)
class AnnotatedFile:
    """A document that `annotate` has processed.

    changed: True if the file was written; annotated: number of sections that got annotations
    empty, failed: numbers of sections without any, for lack of a model, or since it failed"""

    path: Path
    changed: bool
    annotated: int = 0
    empty: int = 0
    failed: int = 0


@validated
@synchronous
async def annotate(
    paths: str | Path | Sequence[str | Path],
    model: str = "",
    refresh: bool = False,
    logger: LoggerBase | None = None,
) -> list[AnnotatedFile]:
    """Write missing annotations (questions, summaries) into documents, as `lmm rag` does.

    paths: a document, a folder, or several
    model: `source/model`, instead of the configured one
    refresh: also replace what a model wrote before
    Return the documents that could be read and written; the others are reported."""
    from .errors import MarkdownError
    from .logging import report_failure
    from .markdown.blocks import serialize_blocks
    from .scan.documents.passes import RagWork, save_as, work_on
    from .scan.rag import Tally
    from .settings.models import Models
    from .settings.quarto_inputs import DocumentFinder

    logger = logger or ConsoleLogger()
    # Included files get no header, since it would become the page's
    files = DocumentFinder(included=False).find(_as_paths(paths), logger)
    work, annotated = RagWork(Models(model, warn=logger.warning), refresh=refresh), []
    try:
        for path in files:
            try:
                file, blocks = await work_on(path, work.finish, logger)
                text = serialize_blocks(blocks)
                save_as(file, text, save=True)
            except (OSError, MarkdownError) as error:
                report_failure(error, logger)
                continue
            tally = work.tallies.get(path, Tally())
            annotated.append(AnnotatedFile(path, text != file.text, tally.written, tally.empty, tally.failed))
    finally:
        await work.models.close()
    return annotated


@validated
@synchronous
async def knit(path: str | Path, keep: Sequence[str] = (), logger: LoggerBase | None = None) -> str:
    """Return the lecture notes of a document: its text without metadata blocks and RAG-only parts.

    keep: types of RAG-only material that stay in, such as `exercise`
    Raise MarkdownError for a mistake that may publish what should be left out."""
    from .markdown.blocks import serialize_blocks
    from .scan.documents.passes import knit_work, work_on

    _, blocks = await work_on(Path(path), knit_work(keep), logger or ConsoleLogger())
    return serialize_blocks(blocks)


@validated
@synchronous
async def index(
    paths: str | Path | Sequence[str | Path],
    annotate: bool = False,
    rebuild: bool = False,
    logger: LoggerBase | None = None,
) -> Counts:
    """Bring the index of a project up to date with documents, as `lmm index` does: only what has changed is embedded.

    paths: a document, a folder, or several, all of one project
    annotate: first make missing annotations, and write them into the documents
    rebuild: build a new index
    Return the numbers of documents and chunks."""
    from .files.walk import INDEXED
    from .indexing.collection import open_index
    from .indexing.refresh import Refresh
    from .settings.models import Models
    from .settings.project import load_project
    from .settings.quarto_inputs import DocumentFinder

    finder, logger, places = DocumentFinder(), logger or ConsoleLogger(), _as_paths(paths)
    files = finder.find(places, logger, INDEXED)
    project, models = load_project(files[0] if files else places[0] / "-"), Models(warn=logger.warning)
    async with open_index(project, models) as store:
        refresh = Refresh(
            project, store, models, annotate=annotate, logger=logger, is_left_out=finder.left_out_finder(places),
            rebuild=rebuild,
        )  # fmt: skip
        counts = await refresh.run(files)
        counts.removed += refresh.prune(places)
    return counts


def search(
    query: str, folder: str | Path = ".", limit: int = 6, type: str = "", logger: LoggerBase | None = None
) -> list[Passage]:
    """Return the passages of a project's index that match a question or words best, as `lmm search` does.

    folder: any folder of the project
    limit: number of passages at most
    type: return only passages of this type, such as `exercise`"""
    return run(asearch(query, folder, limit, type, logger))


@validated
async def asearch(
    query: str, folder: str | Path = ".", limit: int = 6, type: str = "", logger: LoggerBase | None = None
) -> list[Passage]:
    """Return the same as `search`, in asynchronous code."""
    from .retrieve.library import Library
    from .retrieve.ranking.spans import passages_of
    from .retrieve.search import search_spans
    from .settings.models import Models
    from .settings.project import load_project

    library = Library(load_project(Path(folder) / "-"), Models(warn=(logger or ConsoleLogger()).warning))
    try:
        async with library.use():
            spans = await search_spans([library], _asked(query), limit, type=type)
    finally:
        await library.close()
    return passages_of(spans)[:limit]


def ask(
    question: str, folder: str | Path = ".", model: str = "", type: str = "", logger: LoggerBase | None = None
) -> Answer:
    """Return the answer to a question from a project's index, with its sources, as `lmm ask` does.

    Without a model, the best passages are the answer.
    folder: any folder of the project
    model: `source/model`, instead of the configured one
    type: use only material of this type, such as `exercise`"""
    return run(aask(question, folder, model, type, logger))


@validated
async def aask(
    question: str, folder: str | Path = ".", model: str = "", type: str = "", logger: LoggerBase | None = None
) -> Answer:
    """Return the same as `ask`, in asynchronous code."""
    from .retrieve.answer import make_conversation
    from .retrieve.library import Library
    from .retrieve.tools import Tools
    from .settings.models import Models
    from .settings.project import load_project

    warn = (logger or ConsoleLogger()).warning
    project, models = load_project(Path(folder) / "-"), Models(model, warn=warn)
    library = Library(project, models)
    try:
        return await make_conversation(project, models, library, tools=Tools(library)).ask(_asked(question), type=type)
    finally:
        await library.close()


def _asked(question: str) -> str:
    if not question.strip():
        raise RetrieveError("the question is empty")
    return question


def _as_paths(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
