"""Formulas as a terminal shows them. Files, pipes and programs get them as they are written."""

from __future__ import annotations

import sys

from ..markdown.formulas import with_exact_formulas

_FENCES = ("```", "~~~")


def readable(text: str) -> str:
    """Return a markdown text with its formulas in Unicode where that is exact, on a terminal alone."""
    return with_exact_formulas(text) if sys.stdout.isatty() else text


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
