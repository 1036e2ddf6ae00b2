"""Read the files that Quarto passes to scripts, with blocks and options."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import MarkdownError
from ..files.walk import RENDERED, is_document, is_inside, shorten
from ..markdown.files import MarkdownDocument, read_markdown
from ..settings.quarto_inputs import find_inputs, follow_includes, named_in
from ..settings.quarto_project import folder_files, read_project, read_yaml, with_named
from .options import FILTER_OPTIONS, OPTIONS, RenderOptions, has_box, read_options


@dataclass
class Page(MarkdownDocument):
    """A rendered or included file.

    outside: not in the project, links resolved; checked, but neither changed nor indexed"""

    options: RenderOptions
    includes: Sequence[Path] = ()
    included: bool = False
    outside: bool = False


def read_pages(paths: Sequence[Path], project_dir: Path, unreadable: list[str] | None = None) -> list[Page]:
    """Return files with their options, followed by included files.

    unreadable: receives a line for each unreadable file, instead of an exception
    Raise RenderError for invalid options, QuartoError, MarkdownError and OSError."""
    in_folder = _folder_options(project_dir)
    pages, rendered = dict[Path, Page](), set(paths)
    existing = [path for path in paths if path.is_file()]
    for path in follow_includes(existing, lambda path: pages[path].includes if path in pages else ()):
        try:
            file, options = read_markdown(path), in_folder(path.parent)
        except (OSError, MarkdownError) as error:
            if unreadable is None:
                raise
            reason = f": {error.strerror}" if isinstance(error, OSError) else str(error).removeprefix(str(path))
            unreadable.append(f"{name_in_project(path, project_dir)}{reason}")
            continue
        includes = named_in(file.text, path, project_dir)
        page = Page(file, options, includes, path not in rendered, not is_inside(path, project_dir))
        page.options = _page_options(page, project_dir)
        pages[path] = page
    return [*pages.values()]


def project_options(project_dir: Path) -> RenderOptions:
    """Return the options in `_quarto.yml`. Raise RenderError and QuartoError."""
    return read_options(read_project(project_dir).get("lmm"), RenderOptions(ask=has_box(project_dir)), "_quarto.yml")


def _folder_options(project_dir: Path) -> Callable[[Path], RenderOptions]:
    base = project_options(project_dir)

    @cache
    def find(folder: Path) -> RenderOptions:
        options = base
        for place in folder_files(folder / "-", project_dir):
            name = name_in_project(place, project_dir)
            options = read_options(with_named(read_yaml(place), place.parent).get("lmm"), options, name)
        return options

    return find


def _page_options(page: Page, project_dir: Path) -> RenderOptions:
    path = page.file.path
    options = with_named(page.header, path.parent).get("lmm")
    return read_options(options, page.options, name_in_project(path, project_dir), (*OPTIONS, *FILTER_OPTIONS))


def name_in_project(path: Path, project_dir: Path) -> str:
    """Return a path relative to the project if inside, for messages."""
    return str(shorten(path, project_dir))


# The environment of Quarto's scripts


def input_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """Return the files to be rendered, by default the whole project. Raise QuartoError."""
    names = listed_files(environment, "INPUT", project_dir)
    paths = [project_dir / name for name in names] if names else find_inputs(project_dir)
    return [path for path in paths if path.is_file()]


def rendered_files(environment: Mapping[str, str], project_dir: Path) -> list[Path]:
    """Return the documents of Quarto's output files, or all if these combine several (a PDF). Raise QuartoError."""
    output = output_dir(environment, project_dir)
    documents: list[Path] = []
    for name in listed_files(environment, "OUTPUT", project_dir):
        sources = _sources_of(project_dir / name, output, project_dir)
        if not sources:
            return find_inputs(project_dir)
        documents += sources
    return list(dict.fromkeys(documents)) or find_inputs(project_dir)


def output_dir(environment: Mapping[str, str], project_dir: Path) -> Path:
    """Return the rendered site's folder."""
    return project_dir / environment.get("QUARTO_PROJECT_OUTPUT_DIR", "_site")


def listed_files(environment: Mapping[str, str], kind: str, project_dir: Path) -> list[str]:
    """Return the file names in Quarto's variable for a kind (INPUT or OUTPUT), or in the file it names."""
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
