"""Read the files that Quarto names to its scripts, with their blocks and options."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ..files.walk import RENDERED, is_document, is_inside
from ..markdown.blocks import Block
from ..markdown.files import MarkdownDocument, is_notebook, read_markdown
from ..settings.quarto_inputs import find_inputs, follow_includes, named_in
from ..settings.quarto_project import folder_files, read_project, read_yaml, with_named
from .options import FILTER_OPTIONS, OPTIONS, RenderOptions, has_box, read_options


@dataclass
class Page(MarkdownDocument):
    """A file that is rendered, or included in one that is.

    includes: the files that its text includes itself
    outside: the file lies outside the project, links followed: it is checked, but neither changed nor indexed"""

    options: RenderOptions
    includes: Sequence[Path] = ()
    included: bool = False
    outside: bool = False

    @cached_property
    def blocks(self) -> list[Block]:
        return super().blocks

    @property
    def is_written(self) -> bool:
        """True if the file may be changed."""
        return not self.outside and not is_notebook(self.file.path)


def read_pages(paths: Sequence[Path], project_dir: Path) -> list[Page]:
    """Return files with their options, followed by the files that they include, each once.

    Raise RenderError for wrong options, QuartoError for unreadable settings, MarkdownError and OSError for files."""
    in_folder = _folder_options(project_dir)
    pages, named = dict[Path, Page](), set(paths)
    there = [path for path in paths if path.is_file()]
    try:
        for path in follow_includes(there, lambda path: pages[path].includes):
            file, options = read_markdown(path), in_folder(path.parent)
            includes = named_in(file.text, path, project_dir)
            pages[path] = Page(file, options, includes, path not in named, not is_inside(path, project_dir))
    finally:  # if one cannot be read, what is wrong with those before it is said first
        for page in pages.values():
            page.options = _page_options(page, project_dir)
    return [*pages.values()]


def project_options(project_dir: Path) -> RenderOptions:
    """Return the options in a project's `_quarto.yml`. Raise RenderError and QuartoError."""
    return read_options(read_project(project_dir).get("lmm"), RenderOptions(ask=has_box(project_dir)), "_quarto.yml")


def _folder_options(project_dir: Path) -> Callable[[Path], RenderOptions]:
    """Return a function that gives the options of a folder's documents: the folder's merged over the project's."""
    base = project_options(project_dir)

    @cache
    def find(folder: Path) -> RenderOptions:
        options = base
        for place in folder_files(folder / "-", project_dir):
            where = name_in_project(place, project_dir)
            options = read_options(with_named(read_yaml(place), place.parent).get("lmm"), options, where)
        return options

    return find


def _page_options(page: Page, project_dir: Path) -> RenderOptions:
    """Return the options in a page's header merged over its folder's."""
    path = page.file.path
    found = with_named(page.header, path.parent).get("lmm")
    if found is None:
        return page.options
    return read_options(found, page.options, name_in_project(path, project_dir), (*OPTIONS, *FILTER_OPTIONS))


def name_in_project(path: Path, project_dir: Path) -> str:
    """Return a path for messages: relative to the project if it lies inside."""
    return str(path.relative_to(project_dir)) if path.is_relative_to(project_dir) else str(path)


# The environment of Quarto's scripts


def input_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """Return the files that Quarto is about to render, by default all of the project. Raise QuartoError."""
    names = listed_files(environment, "INPUT", project_dir)
    paths = [project_dir / name for name in names] if names else find_inputs(project_dir)
    return [path for path in paths if path.is_file()]


def rendered_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """Return the documents that Quarto has rendered, found by its output files.

    Return all documents if it names no output, or output of several documents (a book's PDF). Raise QuartoError."""
    output = output_dir(environment, project_dir)
    found: list[Path] = []
    for name in listed_files(environment, "OUTPUT", project_dir):
        sources = _sources_of(project_dir / name, output, project_dir)
        if not sources:
            return find_inputs(project_dir)
        found += sources
    return list(dict.fromkeys(found)) or find_inputs(project_dir)


def output_dir(environment: Mapping[str, str], project_dir: Path) -> Path:
    """Return the folder of the rendered site."""
    return project_dir / environment.get("QUARTO_PROJECT_OUTPUT_DIR", "_site")


def listed_files(environment: Mapping[str, str], kind: str, project_dir: Path) -> list[str]:
    """Return the file names in Quarto's environment, listed in a variable or in a file that a variable names.

    kind: INPUT or OUTPUT"""
    text = environment.get(f"QUARTO_PROJECT_{kind}_FILES", "")
    if file := environment.get(f"QUARTO_USE_FILE_FOR_PROJECT_{kind}_FILES"):
        text = (project_dir / file).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.strip()]


def _sources_of(page: Path, output: Path, project_dir: Path) -> list[Path]:
    base = next((folder for folder in (output, project_dir) if page.is_relative_to(folder)), None)
    if base is None:
        return []
    inside = project_dir / page.relative_to(base)
    beside = sorted(inside.parent.glob(f"{glob.escape(inside.stem)}.*"))
    return [path for path in beside if path.stem == inside.stem and is_document(path.name, RENDERED)]
