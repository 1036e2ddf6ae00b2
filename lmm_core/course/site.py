"""Make a static site of a course by pandoc, where there is no Quarto: a page for each document, with
the way to the others, and the ask box on each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import LmmError, RenderError
from ..logging import LoggerBase, in_file
from ..quarto.after_render import shown_pages, write_site_box
from ..quarto.pages import Page
from ..settings.project import Project, load_project
from ..settings.quarto_project import with_quarto_rules
from .contents import Entry, read_contents, site_title
from .frame import first_page, framed, site_words
from .links import copy_files, mended_pages
from .render import FILES, find_pandoc, render_pages
from .text import PageSource, read_page_source

LOOKS = "lmm-site"  # the folder of a site that holds its style sheet
STYLE = FILES / "page.css"


def write_site(
    documents: Sequence[Page], folder: Path, output: Path, settings: Mapping[str, Any], logger: LoggerBase
) -> int:
    """Write the site of some documents, and return the number of its pages. folder: the course's;
    output: of the site, new. Raise CourseError if there is no pandoc, and RenderError with a line for each page
    that failed."""
    project = with_quarto_rules(load_project(folder / "-"))
    shown = [page.file.path for page in shown_pages(documents, folder)]
    contents = read_contents(shown, project, folder, settings)
    title, language = site_title(folder, settings, contents), str(settings.get("lang") or "en")
    words, sources = site_words(language), {entry.page: entry.source for entry in contents if entry.source}
    texts = _read_texts(contents, project, settings, logger)
    rendered = render_pages(texts, language, find_pandoc())
    if failed := [f"{sources[page.name].relative_to(folder)}: {page.problem}" for page in rendered if page.problem]:
        raise RenderError("\n".join(failed))
    for page in rendered:
        for message in page.messages:
            in_file(logger, sources[page.name].relative_to(folder)).warning(message)
    entries = {entry.page: entry for entry in contents if entry.page}
    pages = {page.name: framed(page.html, entries[page.name], title, contents, words) for page in rendered}
    for name, text in mended_pages(pages, sources, folder, logger).items():
        _write(output / name, text)
    (output / LOOKS).mkdir(parents=True)
    shutil.copyfile(STYLE, output / LOOKS / STYLE.name)
    if "index.html" not in pages:
        _write(output / "index.html", first_page(title, contents, words, language))
    copy_files(pages, sources, output, folder, settings, logger)
    write_site_box(output, folder, logger)
    return len(pages)


def _read_texts(
    contents: Sequence[Entry], project: Project, settings: Mapping[str, Any], logger: LoggerBase
) -> list[tuple[str, str, PageSource]]:
    """Return the name, title and text of each page. Raise RenderError with a line for each that has none."""
    texts: list[tuple[str, str, PageSource]] = []
    failed: list[str] = []
    for entry in contents:
        if entry.source is not None:
            try:
                texts.append((entry.page, entry.title, read_page_source(entry.source, project, settings, logger)))
            except (OSError, LmmError) as error:
                failed.append(f"{entry.source.relative_to(project.root)}: {error}")
    if failed:
        raise RenderError("\n".join(failed))
    return texts


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
