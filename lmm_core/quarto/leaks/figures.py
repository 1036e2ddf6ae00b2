"""Find figures in a site that only hidden cells have made.

Quarto runs cells before filters, and copies their figures even if unused."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from urllib.parse import unquote

from ...settings.project import Project
from .findings import Leak

_CELL = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\{[ \t]*\w", re.M)
_FOLDER = "_files/figure-"
_END = re.compile(r"[\"'()<>\s\\]")


def named_figures(source: str) -> Iterator[str]:
    """Yield figures referenced in a text, relative to their document's figures folder."""
    at = source.find(_FOLDER)
    while at >= 0:
        end = _END.search(source, at)
        stop = end.start() if end else len(source)
        start = max(source.rfind(mark, max(at - 500, 0), at) for mark in "/\"'(=>\\ \n")
        yield unquote(html.unescape(source[start + 1 : stop])).partition("?")[0]
        at = source.find(_FOLDER, stop)


def makes_figures(text: str) -> bool:
    """Return True if a text has a cell."""
    return _CELL.search(text) is not None


def unused_figures(output: Path, cells: Mapping[Path, int], referenced: Set[str], project: Project) -> Iterator[Leak]:
    """Yield figures not `referenced` in the site, in documents with hidden cells (the first's line by document)."""
    figures = _figures(output) if cells else []
    for source, line in cells.items():
        own = _own_folder(output, source, project)
        for file in figures:
            folder = file.relative_to(output).parts[:-2]
            page = output.joinpath(*folder).parent
            if file.relative_to(page).as_posix() in referenced:
                continue
            if output.joinpath(*folder) == own or file.name.startswith(f"{source.stem}-"):
                yield Leak(file, source, line, "a figure that only cells left out have made", is_figure=True)


def _own_folder(output: Path, source: Path, project: Project) -> Path | None:
    path, root = source.resolve(), project.root.resolve()
    return (
        (output / path.relative_to(root)).with_suffix("").with_name(f"{path.stem}_files")
        if path.is_relative_to(root)
        else None
    )


def _figures(output: Path) -> list[Path]:
    return sorted(file for file in output.rglob("*_files/figure-*/*") if file.is_file())
