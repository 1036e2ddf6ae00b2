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

from ..project import Project
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
    """The figures of documents in which cells are left out, that nothing in a site names."""
    cells: dict[Path, int] = {}
    for secret in secrets:
        if _CELL.search(secret.text):
            cells.setdefault(secret.source, secret.piece.line)
    for source, line in cells.items():
        path = source.resolve()
        if not path.is_relative_to(project.root.resolve()):
            continue
        page = output / path.relative_to(project.root.resolve())
        for folder in sorted(page.parent.glob("*_files/figure-*")):
            if folder.parent.name != f"{page.stem}_files":
                continue
            for file in sorted(folder.rglob("*")):
                if file.is_file() and file.relative_to(page.parent).as_posix() not in shown:
                    yield Leak(file, source, line, "a figure that only cells left out have made", is_figure=True)
