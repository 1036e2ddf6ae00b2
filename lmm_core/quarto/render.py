"""What is done before and after Quarto renders a project.

Before: no native block may get to Quarto, which merges such blocks and forgets where
they stood; annotations are made where that is asked for. After: nothing that is left out
may stand in what was rendered, and the index is brought to its state.
"""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..errors import LmmError, MarkdownError, RenderError
from ..files.marked import own_place
from ..files.walk import RENDERED, is_document, is_inside
from ..logging import LoggerBase, Report, counted, in_file
from ..markdown.blocks import Block, header_content, serialize_blocks
from ..markdown.files import NOT_ANNOTATED, MarkdownFile, is_notebook, load_markdown, save_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.rag_only import KnitRules, project_rules
from ..markdown.spelling import convert
from ..settings.project import Project, load_project
from ..settings.quarto_inputs import find_inputs, only_inside, with_included
from ..settings.quarto_project import folder_files, page_rules, read_project, read_yaml, with_named
from ..workflows.models import Models
from ..workflows.passes import RagWork, work_on
from ..workflows.typos import read_blocks, typo_lines, with_types
from .native_blocks import find_native, native_lines
from .setup import ASK_FOLDER, OPTIONS, ask_options, filter_problem, has_filter, option_problem, read_ask

if TYPE_CHECKING:
    from ..index.refresh import Counts
    from .ask_box_data import SitePage

# What the filters take from a document's header beside these options.
_OF_FILTERS = ("model", "pass", "save", "source", "spelling")
_AT_ONCE = 16  # files


@dataclass
class _Counting(LoggerBase):
    """Hands reports on, and counts errors."""

    logger: LoggerBase
    errors: int = 0

    def report(self, report: Report) -> None:
        self.errors += report.level == "error"
        self.logger.report(report)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What `lmm:` says, in `_quarto.yml` and in a document's header."""

    annotate: bool = False
    index: bool = True
    collection: str = ""
    on_native: str = "error"
    ask: Any = False


@dataclass
class Page:
    """A file that is rendered, or included in one that is."""

    file: MarkdownFile
    blocks: list[Block]
    options: RenderOptions
    included: bool = False
    outside: bool = False  # of the project, links followed: looked at, but neither changed nor indexed

    @property
    def is_written(self) -> bool:
        """Whether anything may be written into the file."""
        return not self.outside and not is_notebook(self.file.path)


def pre_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> int:
    """Done before a render. Returns the exit status: 1 stops Quarto."""
    return _reporting(lambda: _prepare(environment, project_dir, logger), logger)


def post_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> int:
    """Done after a render. Returns the exit status: 1 fails it."""
    return _reporting(lambda: _finish(environment, project_dir, logger), logger)


def _reporting(work: Callable[[], bool], logger: LoggerBase) -> int:
    try:
        return 0 if work() else 1
    except OSError as error:
        logger.error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except LmmError as error:
        for problem in str(error).split("\n"):
            logger.error(problem)
    return 1


def _prepare(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> bool:
    pages = _pages(_known(input_files(environment, project_dir), project_dir, logger), project_dir)
    _refuse_unfiltered(pages, project_dir)
    for page in pages:
        if page.options.on_native == "convert" and native_lines(page.blocks) and page.is_written:
            _convert(page)
            logger.info(f"{_shown(page.file.path, project_dir)}: native blocks written as divs")
    native = find_native((_shown(page.file.path, project_dir), page.blocks) for page in pages)
    if problems := [*find_problems(pages, project_dir), *native]:
        raise RenderError("\n".join(problems))
    wanted = [page for page in pages if page.options.annotate and not page.included]
    for page in wanted:
        if is_notebook(page.file.path):
            in_file(logger, _shown(page.file.path, project_dir)).warning(NOT_ANNOTATED)
    if todo := [page.file.path for page in wanted if page.is_written]:
        asyncio.run(_annotate(todo, project_dir, logger))
    return True


def _refuse_unfiltered(pages: Sequence[Page], project_dir: Path) -> None:
    """Raise RenderError where a page would not go through our filter."""
    problem = filter_problem(read_project(project_dir))
    if problem and not all(page.included or _is_filtered(page, project_dir) for page in pages):
        raise RenderError(f"_quarto.yml: {problem}, so that pages would show what is left out: see lmm quarto check")


def _is_filtered(page: Page, project_dir: Path) -> bool:
    """Return whether the page itself, or a `_metadata.yml` above it, names our filter."""
    places = folder_files(page.file.path, project_dir)
    said = [with_named(read_yaml(place), place.parent) for place in places]
    return any(map(has_filter, [*said, with_named(header_content(page.blocks), page.file.path.parent)]))


# Options


def read_options(found: Any, base: RenderOptions, where: str, known: Iterable[str] = OPTIONS) -> RenderOptions:
    """The options with what `lmm:` says over them. Raises RenderError for what is unknown
    or wrong."""
    if found is None:
        return base
    if not isinstance(found, dict):
        raise RenderError(f"{where}: `lmm`: should be a mapping of {', '.join(OPTIONS)}")
    own = {str(key).replace("_", "-"): value for key, value in found.items()}
    more = set(known) - set(OPTIONS)
    problems = [problem for key, value in own.items() if key not in more and (problem := option_problem(key, value))]
    if problems:
        raise RenderError("\n".join(f"{where}: {problem}" for problem in problems))
    names = {field.name.replace("_", "-"): field.name for field in fields(RenderOptions)}
    return replace(base, **{names[key]: value for key, value in own.items() if key in names})


def _page_options(file: MarkdownFile, blocks: Sequence[Block], base: RenderOptions, project_dir: Path) -> RenderOptions:
    """The options with what a document's folders and its header say over them."""
    for place in folder_files(file.path, project_dir):
        where = _shown(place, project_dir)
        base = read_options(with_named(read_yaml(place), place.parent).get("lmm"), base, where)
    found = with_named(header_content(blocks), file.path.parent).get("lmm")
    return read_options(found, base, _shown(file.path, project_dir), (*OPTIONS, *_OF_FILTERS))


# Files


def input_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """The files that Quarto is about to render; all documents of the project where it
    names none."""
    names = _listed(environment, "INPUT", project_dir)
    paths = [project_dir / name for name in names] if names else find_inputs(project_dir)
    return [path for path in paths if path.is_file()]


def _known(paths: Sequence[Path], project_dir: Path, logger: LoggerBase) -> list[Path]:
    """The documents among some files; the others are warned of."""
    for path in paths:
        if not is_document(path.name, RENDERED):
            located = in_file(logger, _shown(path, project_dir))
            located.warning("is rendered, but neither checked nor indexed: write its text in a .qmd or a notebook")
    return [path for path in paths if is_document(path.name, RENDERED)]


def rendered_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """The markdown files that Quarto has rendered, by its outputs. All of the project
    where an output is not that of one file (a book's PDF), or no output is named."""
    output = output_dir(environment, project_dir)
    found: list[Path] = []
    for name in _listed(environment, "OUTPUT", project_dir):
        sources = _sources_of(project_dir / name, output, project_dir)
        if not sources:
            return find_inputs(project_dir)
        found += sources
    return list(dict.fromkeys(found)) or find_inputs(project_dir)


def output_dir(environment: Mapping[str, str], project_dir: Path) -> Path:
    """Where the site is."""
    return project_dir / environment.get("QUARTO_PROJECT_OUTPUT_DIR", "_site")


def _listed(environment: Mapping[str, str], kind: str, project_dir: Path) -> list[str]:
    """Names in a variable, or in the file that another variable names: a line each."""
    text = environment.get(f"QUARTO_PROJECT_{kind}_FILES", "")
    if file := environment.get(f"QUARTO_USE_FILE_FOR_PROJECT_{kind}_FILES"):
        text = (project_dir / file).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]


def _sources_of(page: Path, output: Path, project_dir: Path) -> list[Path]:
    """The file that a page comes from."""
    base = next((folder for folder in (output, project_dir) if page.is_relative_to(folder)), None)
    if base is None:
        return []
    inside = project_dir / page.relative_to(base)
    beside = sorted(inside.parent.glob(f"{glob.escape(inside.stem)}.*"))
    return [path for path in beside if path.stem == inside.stem and is_document(path.name, RENDERED)]


def _pages(paths: Sequence[Path], project_dir: Path) -> list[Page]:
    """The files with their options, and the files included in them, each once."""
    base = read_options(read_project(project_dir).get("lmm"), RenderOptions(), "_quarto.yml")
    pages = []
    for path in with_included([path for path in paths if path.is_file()], project_dir):
        file = load_markdown(path)
        blocks = parse_markdown_text(file.text)
        options = _page_options(file, blocks, base, project_dir)
        pages.append(Page(file, blocks, options, path not in paths, not is_inside(path, project_dir)))
    return pages


def _shown(path: Path, project_dir: Path) -> str:
    return str(path.relative_to(project_dir)) if path.is_relative_to(project_dir) else str(path)


def _convert(page: Page) -> None:
    blocks = convert(page.blocks, "div")
    text = serialize_blocks(blocks)
    if text != page.file.text:
        save_markdown(page.file.path, text, page.file)
        page.file, page.blocks = load_markdown(page.file.path), parse_markdown_text(text)


def find_problems(pages: Sequence[Page], project_dir: Path) -> list[str]:
    """Return where what is to be left out would be shown, a line each: a block that cannot be read,
    or a word that is nearly one of ours. The types of all documents count."""
    rules = project_rules(read_project(project_dir), load_project(project_dir / "-").rules)
    others = [path for path in find_inputs(project_dir) if path not in {page.file.path for page in pages}]
    rules = with_types(rules, [*(page.blocks for page in pages), *(blocks for _, blocks in read_blocks(others))])
    return typo_lines([(_shown(page.file.path, project_dir), page.blocks) for page in pages], rules)


# Annotations


async def _annotate(paths: Sequence[Path], project_dir: Path, logger: LoggerBase) -> None:
    """Annotate files, each written where it has changed: `quarto preview` renders again
    what was written. What cannot be done is reported, and stops no render."""
    work = RagWork(Models(warn=logger.warning))
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(path: Path) -> None:
        async with places:
            try:
                if await _annotate_one(path, work, logger):
                    logger.info(f"annotated: {_shown(path, project_dir)}")
            except OSError as error:
                in_file(logger, path).error(f"not annotated: {error.strerror or error}")
            except MarkdownError as error:
                logger.error(f"not annotated: {error}")

    try:
        await asyncio.gather(*map(one, paths))
    finally:
        await work.models.close()


async def _annotate_one(path: Path, work: RagWork, logger: LoggerBase) -> bool:
    """Annotate a file; whether it has changed."""
    file, blocks = await work_on(path, work.finish, logger)
    text = serialize_blocks(blocks)
    if text != file.text:
        save_markdown(path, text, file)
    return text != file.text


# After the render


def _finish(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> bool:
    pages = _pages(rendered_files(environment, project_dir), project_dir)
    base = read_options(read_project(project_dir).get("lmm"), RenderOptions(), "_quarto.yml")
    project = load_project(project_dir / "-")
    logger = _Counting(logger)
    output = output_dir(environment, project_dir)
    named = _listed(environment, "OUTPUT", project_dir)
    shown = replace(project, rules=project_rules(read_project(project_dir), project.rules))
    if output.is_dir():
        own_place(project_dir, output)
        _write_box(output, shown, project_dir, logger)
        _look_for_leaks(_outputs(output, named, pages, project_dir), pages, shown, project_dir, logger)
    only_inside([page.file.path for page in pages], project_dir, logger)  # says which are not
    paths = [page.file.path for page in pages if page.options.index and not page.outside]
    if paths and not logger.errors:  # a site that is not published leaves the index as it is
        everything = environment.get("QUARTO_PROJECT_RENDER_ALL") == "1" or not named
        indexed = _indexed(project, base, project_dir)
        _report_counts(asyncio.run(_index(paths, indexed, logger, prune=everything)), logger)
    return not logger.errors


def _outputs(output: Path, named: Sequence[str], pages: Sequence[Page], project_dir: Path) -> list[Path]:
    """What was rendered: the folder of the output. In a project without one the pages stand
    beside their sources: those that Quarto names, else those of a source's name."""
    if output.resolve() != project_dir.resolve():
        return [output]
    found = [project_dir / name for name in named]
    if not found:
        sources = {page.file.path.with_suffix("") for page in pages}
        beside = [path for folder in {source.parent for source in sources} for path in sorted(folder.iterdir())]
        found = [path for path in beside if path.with_suffix("") in sources and not is_document(path.name, RENDERED)]
    return [path for path in (*found, output / ASK_FOLDER) if path.exists()]


def _indexed(project: Project, options: RenderOptions, project_dir: Path) -> Project:
    """The project as it is indexed: with more classes of RAG-only divs. What is kept in
    this rendering makes no other index."""
    rules = replace(project.rules, div_types=project_rules(read_project(project_dir), project.rules).div_types)
    collection = options.collection or project.index.collection
    return replace(project, rules=rules, index=replace(project.index, collection=collection))


def _indexed_rules(path: Path, project: Project) -> KnitRules:
    """The rules of a file, with the classes that its folders add."""
    return replace(project.rules, div_types=page_rules(path, {}, project.rules).div_types)


async def _index(paths: Sequence[Path], project: Project, logger: LoggerBase, prune: bool) -> Counts:
    """Index files; with `prune`, those that are gone leave. Raises StoreError, ModelError and
    ConfigError."""
    from ..workflows.index import Upload, client_from_config

    models = Models(warn=logger.warning)
    store = await asyncio.to_thread(client_from_config, project)
    try:
        upload = Upload(project, store, models, logger=logger, rules_of=lambda path: _indexed_rules(path, project))
        counts = await upload.run(paths)
        counts.removed += upload.prune() if prune else 0
        return counts
    finally:
        await models.close()
        store.close()


def _report_counts(counts: Counts, logger: LoggerBase) -> None:
    logger.info(
        f"index: {counted(counts.written, 'chunk')} written, {counts.removed} removed, {counts.unchanged} unchanged"
    )


def _write_box(output: Path, project: Project, project_dir: Path, logger: LoggerBase) -> None:
    """Bring the ask box of the whole site to the state of its pages, in a partial render, too."""
    from .ask_box_data import remove_box, write_box

    ask = read_ask(project_dir)
    if ask is None:
        remove_box(output)
        return
    settings = read_project(project_dir)
    written = write_box(output, list(_site_pages(project_dir)), project, ask, settings, logger)
    logger.info(f"ask box: {counted(written.sections, 'section')} of {counted(written.documents, 'document')}")


def _site_pages(project_dir: Path) -> Iterator[SitePage]:
    """The documents with their pages, each once; those included in a page after it. A
    document may say `ask: false` for itself, and a draft has no part in it: Quarto leaves the
    text of one out of the site."""
    from .ask_box_data import SitePage

    drafts = _listed_drafts(project_dir)
    seen: set[Path] = set()
    for page in _pages(find_inputs(project_dir), project_dir):
        if page.included or page.outside or ask_options(page.options.ask) is None or _is_draft(page, drafts):
            continue
        name = PurePath(_shown(page.file.path, project_dir)).with_suffix(".html").as_posix()
        for path in only_inside(with_included([page.file.path], project_dir), project_dir):
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield SitePage(path, name)


def _listed_drafts(project_dir: Path) -> set[Path]:
    """The drafts that `_quarto.yml` names (https://quarto.org/docs/websites/website-drafts.html)."""
    settings = read_project(project_dir)
    found = [settings.get(kind) for kind in ("website", "book")]
    named = [one.get("drafts") for one in found if isinstance(one, dict)]
    return {(project_dir / str(name)).resolve() for one in named for name in (one if isinstance(one, list) else [one])}


def _is_draft(page: Page, drafts: set[Path]) -> bool:
    return header_content(page.blocks).get("draft") is True or page.file.path.resolve() in drafts


def _look_for_leaks(
    outputs: Sequence[Path], pages: Sequence[Page], project: Project, project_dir: Path, logger: LoggerBase
) -> None:
    """Report what is left out and stands in the output all the same."""
    from .leaks import look_for_leaks
    from .leaks.causes import conclusion

    rendered = [page.file.path for page in pages]
    shown = with_included(find_inputs(project_dir), project_dir)
    leaks = look_for_leaks(outputs, rendered, project, logger, shown, read_ask(project_dir)).leaks
    standing: list[Path] = []
    for leak in leaks:
        located = in_file(logger, _shown(leak.source, project_dir))
        file = PurePath(_shown(leak.file, project_dir))
        if leak.is_figure and any(is_inside(leak.file, output) for output in outputs):
            leak.file.unlink(missing_ok=True)  # Quarto's own, which the next render makes again
            located.info(f"{file} removed from the site: only a cell that is left out has made it", leak.line)
            continue
        place = f"{file} ({leak.member})" if leak.member else str(file)
        located.error(f'is left out of the notes, and stands in {place}: "{leak.text}…"', leak.line)
        standing.append(leak.file)
    if standing:
        output = next((one for one in outputs if one.is_dir()), project_dir)
        for line in conclusion(standing, output, project_dir).split("\n"):
            logger.error(line)
