"""Write the ask box, check for leaks and refresh the index after a render."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..files.marked import own_place
from ..files.walk import RENDERED, is_document, is_inside
from ..logging import KeepingLogger, LoggerBase, counted, in_file
from ..markdown.visibility import KnitRules
from ..settings.project import load_project
from ..settings.quarto_inputs import (
    DocumentFinder,
    find_inputs,
    follow_includes,
    included_in,
    only_inside,
    with_included,
)
from ..settings.quarto_project import (
    load_quarto_project,
    mapping_in,
    page_rules,
    page_settings,
    read_project,
    with_quarto,
)
from ..settings.tables import IN_COURSE
from .options import ASK_FOLDER, ask_options, read_ask
from .pages import Page, listed_files, name_in_project, output_dir, read_pages, rendered_files

if TYPE_CHECKING:
    from ..indexing.records import Counts
    from .ask_box.material import SitePage
    from .leaks import Findings, Leak


def finish_render(environment: Mapping[str, str], project_dir: Path, logger: LoggerBase) -> bool:
    """Write the ask box, report leaks as errors, and refresh the index. Return False after reporting an error.

    The index is not refreshed then, nor during `lmm course`, which does so itself."""
    pages = read_pages(rendered_files(environment, project_dir), project_dir)
    reports = KeepingLogger(logger)
    output = output_dir(environment, project_dir)
    output_files = listed_files(environment, "OUTPUT", project_dir)
    if output.is_dir():
        own_place(project_dir, output)
        write_site_box(output, project_dir, reports)
        report_leaks(_outputs(output, output_files, pages, project_dir), pages, project_dir, reports)
    only_inside([page.file.path for page in pages], project_dir, reports)  # for its warnings
    if not reports.count("error") and environment.get(IN_COURSE) != "1":
        is_complete = environment.get("QUARTO_PROJECT_RENDER_ALL") == "1" or not output_files
        refresh_index(pages, project_dir, reports, prune=is_complete)
    return not reports.count("error")


def _outputs(output: Path, output_files: Sequence[str], pages: Sequence[Page], project_dir: Path) -> list[Path]:
    if output.resolve() != project_dir.resolve():
        return [output]
    files = [project_dir / name for name in output_files]
    if not files:
        sources = {page.file.path.with_suffix("") for page in pages}
        beside = [path for folder in {source.parent for source in sources} for path in sorted(folder.iterdir())]
        files = [path for path in beside if path.with_suffix("") in sources and not is_document(path.name, RENDERED)]
    return [path for path in (*files, output / ASK_FOLDER) if path.exists()]


# The index


def refresh_index(pages: Sequence[Page], project_dir: Path, logger: LoggerBase, prune: bool) -> None:
    """Index the pages; with `prune`, remove deleted and excluded documents.

    Raise StoreError, ModelError and ConfigError.
    """
    finder = DocumentFinder()
    paths = [page.file.path for page in pages if page.options.index and not page.outside]
    paths = [path for path in paths if finder.why_not(path) != "pattern"]
    if not paths:
        return
    import asyncio

    from ..indexing.collection import open_index
    from ..indexing.refresh import Refresh
    from ..indexing.sources import NotesReader
    from ..settings.models import Models

    project, models = load_project(project_dir / "-"), Models(warn=logger.warning)
    types = with_quarto(project, project_dir).rules.div_types  # the index ignores `keep`
    project = replace(project, rules=replace(project.rules, div_types=types))

    def rules_of(path: Path) -> KnitRules:
        return replace(project.rules, div_types=page_rules(path, {}, project.rules).div_types)

    async def work() -> Counts:
        async with open_index(project, models) as store:
            refresh = Refresh(project, store, models, logger=logger, reader=NotesReader(project, rules_of))
            # other files may be pages in another profile
            refresh.is_left_out = lambda path: is_inside(path, project.root) and finder.why_not(path) == "pattern"
            counts = await refresh.run(paths)
            counts.removed += refresh.prune() if prune else 0
            return counts

    logger.info(f"index: {asyncio.run(work()).describe()}")


# The ask box


def write_site_box(output: Path, project_dir: Path, logger: LoggerBase, more: Sequence[str] = ()) -> None:
    """Write the ask box for the whole site, even if only a part was rendered.

    more: further pages for the box"""
    from .ask_box.box import remove_box, write_box

    ask = read_ask(project_dir)
    if ask is None:
        remove_box(output)
        return
    pages = [*site_pages(project_dir, output)]
    rows = write_box(output, pages, load_quarto_project(project_dir), ask, logger, more)
    logger.info(f"search box: {counted(len(rows.sections), 'section')} of {counted(len(rows.documents), 'document')}")


def site_pages(project_dir: Path, output: Path) -> Iterator[SitePage]:
    """Yield the documents that the ask box searches, each page followed by its includes. `ask: false` skips pages."""
    from .ask_box.material import SitePage

    finder, settings = DocumentFinder(), read_project(project_dir)
    yielded: set[str] = set()
    for page in shown_pages(read_pages(find_inputs(project_dir), project_dir), project_dir):
        if page.outside or ask_options(page.options.ask) is None:
            continue
        if finder.why_not(page.file.path) == "pattern":
            continue
        name = _page_name(page, page_settings(page.file.path, page.header, settings), project_dir, output)
        for path in _with_included(page, project_dir):
            file = page.file if path is page.file.path else None
            place = str(file.place) if file else os.path.realpath(path)
            if place not in yielded:
                yielded.add(place)
                yield SitePage(path, name, file is None, file)


def _page_name(page: Page, settings: Mapping[str, Any], project_dir: Path, output: Path) -> str:
    default_name = PurePath(name_in_project(page.file.path, project_dir)).with_suffix(".html")
    of_html = mapping_in(mapping_in(settings, "format"), "html")
    if output_file := str(of_html.get("output-file") or settings.get("output-file") or ""):
        name = default_name.with_name(f"{PurePath(output_file).name.removesuffix('.html')}.html")
        if (output / name).is_file():
            return name.as_posix()
    return default_name.as_posix()


def _with_included(page: Page, project_dir: Path) -> list[Path]:
    path = page.file.path
    return only_inside(with_included([path], project_dir), project_dir) if page.includes else [path]


def shown_pages(pages: Sequence[Page], project_dir: Path) -> list[Page]:
    """Return the published pages: no included files, and no drafts, which Quarto renders empty."""
    settings = read_project(project_dir)
    drafts = _listed_drafts(settings, project_dir)
    public = (page for page in pages if not page.included and str(page.file.place) not in drafts)
    return [page for page in public if page_settings(page.file.path, page.header, settings).get("draft") is not True]


def _listed_drafts(settings: Mapping[str, Any], project_dir: Path) -> set[str]:
    """Return the drafts listed in `_quarto.yml` (https://quarto.org/docs/websites/website-drafts.html)."""
    listed = [mapping_in(settings, table).get("drafts") for table in ("website", "book")]
    names = (name for drafts in listed for name in (drafts if isinstance(drafts, list) else [drafts]) if name)
    return {os.path.realpath(project_dir / str(name)) for name in names}


# Leaks


def report_leaks(outputs: Sequence[Path], pages: Sequence[Page], project_dir: Path, logger: LoggerBase) -> Findings:
    """Report hidden parts in the output as errors, and return the findings. Hidden cells' own figures are removed."""
    from .leaks import SiteSources, look_for_leaks

    includes = {page.file.path: page.includes for page in pages}

    def included(path: Path) -> Sequence[Path]:
        return includes[path] if path in includes else included_in(path, project_dir)

    published = [*follow_includes(find_inputs(project_dir), included)]
    sources = SiteSources([page.file.path for page in pages], published, in_memory=pages)
    project, ask = load_quarto_project(project_dir), read_ask(project_dir)
    findings = look_for_leaks(outputs, sources, project, logger, ask)
    remaining: list[Leak] = []
    for leak in findings.leaks:
        if leak.is_figure and any(is_inside(leak.file, output) for output in outputs):
            _remove_figure(leak, project_dir, logger)
        else:
            _report_leak(leak, project_dir, logger)
            remaining.append(leak)
    if remaining:
        from .leaks.causes import conclusion

        output = next((path for path in outputs if path.is_dir()), project_dir)
        for line in conclusion(remaining, output, project_dir).split("\n"):
            logger.error(line)
    findings.leaks = remaining
    if findings.doubt:
        logger.warning(findings.doubt)
    return findings


def _remove_figure(leak: Leak, project_dir: Path, logger: LoggerBase) -> None:
    leak.file.unlink(missing_ok=True)
    file = PurePath(name_in_project(leak.file, project_dir))
    located = in_file(logger, name_in_project(leak.source, project_dir))
    located.info(f"{file} was removed from the site: only a cell that is left out made it", leak.line)


def _report_leak(leak: Leak, project_dir: Path, logger: LoggerBase) -> None:
    file = PurePath(name_in_project(leak.file, project_dir))
    place = f"{file} ({leak.member})" if leak.member else str(file)
    located = in_file(logger, name_in_project(leak.source, project_dir))
    located.error(f'This part is left out of the notes, but is in {place}: "{leak.text}…"', leak.line)
