"""Check and annotate documents before a render.

Native blocks are refused, because Quarto merges them into the header and loses their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import MarkdownError, RenderError
from ..files.walk import RENDERED, is_document
from ..logging import LoggerBase, in_file
from ..markdown.files import NOT_ANNOTATED, is_notebook
from ..scan.check.mistakes import read_documents, typo_lines, with_types
from ..settings.quarto_inputs import DocumentFinder, find_inputs
from ..settings.quarto_project import load_quarto_project, page_settings, read_project
from .extension import filter_problem, has_filter
from .native_blocks import find_native
from .pages import Page, input_files, name_in_project, read_pages

_AT_ONCE = 16  # files annotated concurrently; each is read just before


def prepare_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> None:
    """Check and annotate the documents to be rendered. Raise RenderError, one line per problem, if a page would show
    hidden text."""
    pages = read_pages(_documents(input_files(environment, project_dir), project_dir, logger), project_dir)
    _refuse_unfiltered(pages, project_dir)
    native = find_native((name_in_project(page.file.path, project_dir), page) for page in pages)
    if problems := [*find_problems(pages, project_dir), *native]:
        raise RenderError("\n".join(problems))
    annotate_pages([page for page in pages if page.options.annotate], project_dir, logger)


def annotate_pages(pages: Sequence[Page], project_dir: Path, logger: LoggerBase) -> None:
    """Annotate pages, except included, excluded and read-only files."""
    finder = DocumentFinder()
    candidates = [page for page in pages if not page.included]
    candidates = [page for page in candidates if page.outside or finder.why_not(page.file.path) != "pattern"]
    for page in candidates:
        if is_notebook(page.file.path):
            in_file(logger, name_in_project(page.file.path, project_dir)).warning(NOT_ANNOTATED)
    if todo := [page.file.path for page in candidates if not (page.outside or is_notebook(page.file.path))]:
        import asyncio

        asyncio.run(_annotate(todo, project_dir, logger))


def _documents(paths: Sequence[Path], project_dir: Path, logger: LoggerBase) -> list[Path]:
    for path in paths:
        if not is_document(path.name, RENDERED):
            located = in_file(logger, name_in_project(path, project_dir))
            located.warning(
                "This file is rendered, but neither checked nor indexed. Write its text in a .qmd file or a notebook."
            )
    return [path for path in paths if is_document(path.name, RENDERED)]


def _refuse_unfiltered(pages: Sequence[Page], project_dir: Path) -> None:
    problem = filter_problem(read_project(project_dir))
    settings = [page_settings(page.file.path, page.header, {}) for page in pages if problem and not page.included]
    if not all(map(has_filter, settings)):
        raise RenderError(
            f"_quarto.yml: {problem}, so pages would show what is left out. To see what to add, run: lmm doctor"
        )


def find_problems(pages: Sequence[Page], project_dir: Path) -> list[str]:
    """Return a line per block or near-miss that may publish hidden text, given the types of all documents."""
    rules = load_quarto_project(project_dir).rules
    page_paths = {page.file.path for page in pages}
    others = [path for path in find_inputs(project_dir) if path not in page_paths]
    rules = with_types(rules, [*pages, *read_documents(others)])
    return typo_lines([(name_in_project(page.file.path, project_dir), page) for page in pages], rules)


async def _annotate(paths: Sequence[Path], project_dir: Path, logger: LoggerBase) -> None:
    """Annotate files, leaving unchanged ones unwritten: `quarto preview` renders written ones."""
    import asyncio

    from ..models.chat import then_close
    from ..scan.documents.passes import RagWork, rewrite_file
    from ..settings.models import Models

    work = RagWork(Models(warn=logger.warning))
    places = asyncio.Semaphore(_AT_ONCE)

    async def annotate_file(path: Path) -> None:
        async with places:
            try:
                if await rewrite_file(path, work.finish, logger):
                    logger.info(f"annotated: {name_in_project(path, project_dir)}")
            except OSError as error:
                in_file(logger, path).error(f"not annotated: {error.strerror or error}")
            except MarkdownError as error:
                logger.error(f"not annotated: {error}")

    await then_close(asyncio.gather(*map(annotate_file, paths)), work.models)
