"""Write a static site with pandoc: a page per document, navigation and the ask box."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import LmmError, RenderError
from ..files.walk import is_inside
from ..logging import LoggerBase, in_file
from ..quarto.after_render import shown_pages, write_site_box
from ..quarto.html import parse_html
from ..quarto.pages import Page
from ..scan.rag import Progress
from ..settings.project import Project, load_project
from ..settings.quarto_project import with_quarto_rules
from ..settings.tables import SiteOptions
from ..study.outline import course_title
from .contents import FIRST_PAGE, Entry, read_contents
from .frame import frame_of, site_words
from .links import SiteLinks, find_labels
from .render import FILES, PageJob, RenderedPage, find_pandoc, render_pages
from .text import PageSource, read_page_source

STYLE = FILES / "page.css"
STYLE_PLACE = f"lmm-site/{STYLE.name}"  # path in a site


def write_site(
    documents: Sequence[Page],
    folder: Path,
    output: Path,
    settings: Mapping[str, Any],
    logger: LoggerBase,
    progress: Progress | None = None,
) -> int:
    """Write the site and return the number of pages.

    folder: of the course
    output: a new folder
    Raise CourseError without pandoc, and RenderError with one line per failed page."""
    project = with_quarto_rules(load_project(folder / "-"))
    shown = [page.file.path for page in shown_pages(documents, folder)]
    contents = read_contents(shown, project, folder, settings)
    language = str(settings.get("lang") or "en")
    options = _site_options(project, folder, output, logger)
    sources = {entry.page: entry.source for entry in contents if entry.source}
    texts = _read_texts(contents, project, settings, logger)
    if FIRST_PAGE not in sources:
        header = f"---\ntitle: {json.dumps(options.title)}\n---\n"
        texts[Entry(options.title, FIRST_PAGE)] = PageSource(header, language)
    pages = [
        PageJob(entry.page, entry.title, text, frame_of(entry, options, contents, site_words(language)))
        for entry, text in texts.items()
    ]
    rendered = render_pages(pages, language, find_pandoc(), progress)
    _report(rendered, sources, folder, logger)
    trees = {page.name: parse_html(page.html) for page in rendered}
    links = SiteLinks(
        sources, find_labels(trees), folder, output, frozenset({FIRST_PAGE, STYLE_PLACE, options.favicon})
    )
    for name, tree in trees.items():
        links.mend(name, tree, in_file(logger, sources[name].relative_to(folder)) if name in sources else logger)
        _place(output / name).write_text(tree.html or "", encoding="utf-8")
    shutil.copyfile(STYLE, _place(output / STYLE_PLACE))
    write_site_box(output, folder, logger, more=(FIRST_PAGE,))
    return len(sources)


def _site_options(project: Project, folder: Path, output: Path, logger: LoggerBase) -> SiteOptions:
    options, icon = project.site, folder / project.site.favicon
    if options.favicon and not (icon.is_file() and is_inside(icon, folder)):
        logger.warning(f"config.toml: favicon: there is no file {options.favicon} in the course")
        options = replace(options, favicon="")
    elif options.favicon:
        shutil.copyfile(icon, _place(output / options.favicon))
    return replace(options, title=course_title(folder) or folder.name)


def _read_texts(
    contents: Sequence[Entry], project: Project, settings: Mapping[str, Any], logger: LoggerBase
) -> dict[Entry, PageSource]:
    texts: dict[Entry, PageSource] = {}
    failed: list[str] = []
    for entry in contents:
        if entry.source is not None:
            try:
                texts[entry] = read_page_source(entry.source, project, settings, logger)
            except (OSError, LmmError) as error:
                failed.append(f"{entry.source.relative_to(project.root)}: {error}")
    if failed:
        raise RenderError("\n".join(failed))
    return texts


def _report(rendered: Sequence[RenderedPage], sources: Mapping[str, Path], folder: Path, logger: LoggerBase) -> None:
    """Log pandoc's warnings. Raise RenderError with one line per failed page."""
    names = {name: str(source.relative_to(folder)) for name, source in sources.items()}
    if failed := [f"{names.get(page.name, page.name)}: {page.problem}" for page in rendered if page.problem]:
        raise RenderError("\n".join(failed))
    for page in rendered:
        for message in page.messages:
            in_file(logger, names.get(page.name, page.name)).warning(message)


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
