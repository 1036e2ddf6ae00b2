"""What is done before and after Quarto renders a project.

Before: no native block may get to Quarto, which merges such blocks and forgets where
they stood; annotations are made where that is asked for. After: nothing that is left out
may stand in what was rendered, and the index is brought to its state.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from .files.marked import FolderError, own_place
from .files.walk import SUFFIXES, is_inside
from .logging import LoggerBase, Report, counted, in_file
from .markdown.blocks import Block, ErrorBlock, HeaderBlock, MarkdownError, MetadataBlock, TextBlock, serialize_blocks
from .markdown.divs import find_parts
from .markdown.files import MarkdownFile, load_markdown, save_markdown
from .markdown.metadata import parse_metadata
from .markdown.parse import NATIVE_CLOSE, NATIVE_OPEN, parse_markdown_text
from .markdown.spelling import convert
from .markdown_files import RagWork, work_on
from .model_pool import Models
from .models.sources import ModelError
from .project import ConfigError, Project, load_project
from .quarto import (
    ASK_FOLDER,
    BY_HAND,
    OPTIONS,
    QuartoError,
    ask_options,
    find_inputs,
    only_inside,
    option_problem,
    read_ask,
    read_project,
    with_included,
)
from .scan.knit import project_rules
from .store.vector_store import StoreError

if TYPE_CHECKING:
    from .site_data import SitePage
    from .store.refresh import Counts

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


class RenderError(Exception):
    """A reason to stop the render; one problem a line."""


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
    except (RenderError, QuartoError, ConfigError, FolderError, MarkdownError, StoreError, ModelError) as error:
        for problem in str(error).split("\n"):
            logger.error(problem)
    return 1


def _prepare(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> bool:
    pages = _pages(input_files(environment, project_dir), project_dir)
    for page in pages:
        if page.options.on_native == "convert" and native_lines(page.blocks) and not page.outside:
            _convert(page)
            logger.info(f"{_shown(page.file.path, project_dir)}: native blocks written as divs")
    refuse_native(pages, project_dir)
    todo = [page.file.path for page in pages if page.options.annotate and not page.included and not page.outside]
    if todo:
        asyncio.run(_annotate(todo, project_dir, logger))
    return True


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


def _page_options(file: MarkdownFile, blocks: Sequence[Block], base: RenderOptions, shown: str) -> RenderOptions:
    header = blocks[0] if blocks else None
    found = header.content.get("lmm") if isinstance(header, HeaderBlock) else None
    return read_options(found, base, shown, (*OPTIONS, *_OF_FILTERS))


# Files


def input_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """The markdown files that Quarto is about to render; all of the project where it
    names none."""
    names = _listed(environment, "INPUT", project_dir)
    paths = [project_dir / name for name in names] if names else find_inputs(project_dir)
    return [path for path in paths if path.suffix in SUFFIXES and path.is_file()]


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
    return [path for suffix in SUFFIXES if (path := inside.with_suffix(suffix)).is_file()]


def _pages(paths: Sequence[Path], project_dir: Path) -> list[Page]:
    """The files with their options, and the files included in them, each once."""
    base = read_options(read_project(project_dir).get("lmm"), RenderOptions(), "_quarto.yml")
    pages = []
    for path in with_included([path for path in paths if path.is_file()], project_dir):
        file = load_markdown(path)
        blocks = parse_markdown_text(file.text)
        options = _page_options(file, blocks, base, _shown(path, project_dir))
        pages.append(Page(file, blocks, options, path not in paths, not is_inside(path, project_dir)))
    return pages


def _shown(path: Path, project_dir: Path) -> str:
    return str(path.relative_to(project_dir)) if path.is_relative_to(project_dir) else str(path)


# Native blocks


def native_lines(blocks: Sequence[Block]) -> list[int]:
    """Lines of the native blocks beside the header, those inside divs included, and what
    Quarto takes for one."""
    lines: list[int] = []
    before = 0
    for at, block in enumerate(blocks):
        if _is_rule_over_text(blocks, at):
            lines.append(block.line)
        elif _is_native(block):
            lines.append(block.line)
        elif isinstance(block, TextBlock) and "---" in block.source:
            lines += [before + block.source.count("\n", 0, start) + 1 for start in _native_inside(block.source)]
        before += block.source.count("\n")
    return lines


def _is_native(block: Block) -> bool:
    if isinstance(block, ErrorBlock):
        return block.source.lstrip().startswith("-")
    return isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock) and block.spelling == "native"


def _is_rule_over_text(blocks: Sequence[Block], at: int) -> bool:
    """Whether a rule has text right below it, up to the next rule. Quarto reads that as
    YAML, and stops on a list, and on words together with a header."""
    block = blocks[at]
    if not isinstance(block, TextBlock) or not NATIVE_OPEN.match(block.content):
        return False
    text = serialize_blocks(blocks[at:]).lstrip("\ufeff \t\r\n")
    close = NATIVE_CLOSE.search(text, 3)
    first, *lines = text[: close.start()].split("\n") if close else [""]
    if first.strip() != "---":
        return False
    is_mapping = parse_metadata("\n".join(lines)).content is not None
    return not is_mapping and (lines[0].startswith("- ") or isinstance(blocks[0], HeaderBlock))


def _native_inside(text: str) -> Iterator[int]:
    """Where native blocks start inside the divs of a text."""
    for part in find_parts(text):
        if part.metadata is not None and not part.attributes.classes:
            yield part.start


def _convert(page: Page) -> None:
    blocks = convert(page.blocks, "div")
    text = serialize_blocks(blocks)
    if text != page.file.text:
        save_markdown(page.file.path, text, page.file)
        page.file, page.blocks = load_markdown(page.file.path), parse_markdown_text(text)


def refuse_native(pages: Sequence[Page], project_dir: Path) -> None:
    """Raises RenderError where a native block is left: where it stands, and what mends
    it."""
    problems: list[str] = []
    mended: list[str] = []
    by_hand = False
    for page in pages:
        name = _shown(page.file.path, project_dir)
        lines = native_lines(page.blocks)
        problems += [
            f"{name}:{line}: a metadata block between `---` lines, whose place Quarto forgets" for line in lines
        ]
        left = native_lines(convert(page.blocks, "div"))
        by_hand = by_hand or bool(left)
        mended += [name] if len(left) < len(lines) else []
    if mended:
        problems.append(f"write them as divs: lmm convert --to div {shlex.join(mended)}")
    if by_hand:
        problems.append(BY_HAND)
    if problems:
        raise RenderError("\n".join(problems))


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
        found = [path for path in beside if path.with_suffix("") in sources and path.suffix not in SUFFIXES]
    return [path for path in (*found, output / ASK_FOLDER) if path.exists()]


def _indexed(project: Project, options: RenderOptions, project_dir: Path) -> Project:
    """The project as it is indexed: with more classes of RAG-only divs. What is kept in
    this rendering makes no other index."""
    rules = replace(project.rules, div_types=project_rules(read_project(project_dir), project.rules).div_types)
    collection = options.collection or project.index.collection
    return replace(project, rules=rules, index=replace(project.index, collection=collection))


async def _index(paths: Sequence[Path], project: Project, logger: LoggerBase, prune: bool) -> Counts:
    """Index files; with `prune`, those that are gone leave. Raises StoreError, ModelError and
    ConfigError."""
    from .index import Upload, client_from_config

    models = Models(warn=logger.warning)
    store = await asyncio.to_thread(client_from_config, project)
    try:
        upload = Upload(project, store, models, logger=logger)
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
    from .site_data import remove_box, write_box

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
    from .site_data import SitePage

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
    header = page.blocks[0].content if page.blocks and isinstance(page.blocks[0], HeaderBlock) else {}
    return header.get("draft") is True or page.file.path.resolve() in drafts


def _look_for_leaks(
    outputs: Sequence[Path], pages: Sequence[Page], project: Project, project_dir: Path, logger: LoggerBase
) -> None:
    """Report what is left out and stands in the output all the same."""
    from .leaks import look_for_leaks

    rendered = [page.file.path for page in pages]
    shown = with_included(find_inputs(project_dir), project_dir)
    for leak in look_for_leaks(outputs, rendered, project, logger, shown, read_ask(project_dir)).leaks:
        located = in_file(logger, _shown(leak.source, project_dir))
        file = PurePath(_shown(leak.file, project_dir))
        located.error(f'is left out of the notes, and stands in {file}: "{leak.text}…"', leak.line)
