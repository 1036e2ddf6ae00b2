"""Formulas as a terminal shows them. Files, pipes and programs get them as they are written."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator

import click

from ..markdown.formulas import with_exact_formulas
from ..markdown.regions import split_fences

_FENCES = ("```", "~~~")
_BOLD, _ESCAPE = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*"), re.compile(r"\\([^\w\s])")
WIDTH = 84  # characters of a line of an excerpt


def readable(text: str) -> str:
    """Return a markdown text with its formulas in Unicode where that is exact, on a terminal alone."""
    return with_exact_formulas(text) if sys.stdout.isatty() else text


def excerpt_lines(markdown: str) -> Iterator[str]:
    """Yield the lines of a best match: prose wrapped, code as it is, bold words bold on a terminal alone."""
    for is_code, piece in split_fences(markdown):
        if is_code:
            yield from (f"    {line}" for line in piece.strip("\n").split("\n")[1:-1])
            continue
        for paragraph in filter(str.strip, piece.split("\n")):
            for line in textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False):
                shown = _BOLD.sub(
                    lambda bold: click.style(bold[1], bold=True) if sys.stdout.isatty() else bold[1], line
                )
                yield _ESCAPE.sub(r"\1", shown)


class ArrivingText:
    """A markdown text that arrives in parts, none of which ends inside a formula or a code span."""

    def __init__(self) -> None:
        self._line = ""  # what has come of the line that is not complete
        self._in_code = False

    def readable(self, part: str) -> str:
        """Return a further part as `readable` does; lines of code stay as they are."""
        return "".join(map(self._piece, part.splitlines(keepends=True)))

    def _piece(self, piece: str) -> str:
        is_fence = not self._line and piece.lstrip(" ").startswith(_FENCES)
        is_code = self._in_code or is_fence
        self._line = "" if piece.endswith("\n") else self._line + piece
        if is_fence:
            self._in_code = not self._in_code
        return piece if is_code else readable(piece)
