"""Figures: files that Quarto has put into a site and that only cells left out have made.

A cell is run before anything is left out, and its figure is copied to the site, where no page
shows it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from ...settings.project import Project
from .found import Leak
from .sources import Secret

_CELL = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{[ \t]*\w", re.M)
_FOLDER = "_files/figure-"
_END = re.compile(r"[\"'()<>\s\\]")


def shown_figures(source: str) -> Iterator[str]:
    """The figures that a text names: their paths from the folder of their document's name on."""
    at = source.find(_FOLDER)
    while at >= 0:
        end = _END.search(source, at)
        stop = end.start() if end else len(source)
        start = max(source.rfind(mark, max(at - 500, 0), at) for mark in "/\"'(=>\\ \n")
        yield unquote(html.unescape(source[start + 1 : stop])).partition("?")[0]
        at = source.find(_FOLDER, stop)


def unshown_figures(output: Path, secrets: Iterable[Secret], shown: set[str], project: Project) -> Iterator[Leak]:
    """The figures of documents in which cells are left out, that nothing in a site names. A page in
    which a notebook's cells are embedded has the figures of all of them, too."""
    cells: dict[Path, int] = {}
    for secret in secrets:
        if _CELL.search(secret.text):
            cells.setdefault(secret.source, secret.piece.line)
    figures = _figures(output) if cells else []
    for source, line in cells.items():
        own = _own_folder(output, source, project)
        for file in figures:
            folder = file.relative_to(output).parts[:-2]
            page = output.joinpath(*folder).parent
            if file.relative_to(page).as_posix() in shown:
                continue
            if output.joinpath(*folder) == own or file.name.startswith(f"{source.stem}-"):
                yield Leak(file, source, line, "a figure that only cells left out have made", is_figure=True)


def _own_folder(output: Path, source: Path, project: Project) -> Path | None:
    """Where the figures of a document are in a site."""
    path, root = source.resolve(), project.root.resolve()
    return (
        (output / path.relative_to(root)).with_suffix("").with_name(f"{path.stem}_files")
        if path.is_relative_to(root)
        else None
    )


def _figures(output: Path) -> list[Path]:
    """The figures in a site that cells have made."""
    return sorted(file for file in output.rglob("*_files/figure-*/*") if file.is_file())
