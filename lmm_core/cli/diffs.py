"""Print unified diffs."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator

from ..logging import put, say, visible

_STYLES = {"+++ ": "bold green", "--- ": "bold red", "+": "green", "-": "red", "@": "cyan"}


def print_diff(name: str, before: str | None, after: str | None) -> None:
    """Print the change of a text, None for a missing file; a terminal gets colours and escapes."""
    on_terminal = sys.stdout.isatty()
    for line in diff_lines(name, before, after):
        if on_terminal:
            style = _STYLES.get(line[:4]) or _STYLES.get(line[:1], "")
            say(visible(line.removesuffix("\r")), style=style)
        else:
            put(f"{line}\n")


def diff_lines(name: str, before: str | None, after: str | None) -> Iterator[str]:
    """Yield the lines of a unified diff, without line feeds."""
    old, new = _lines(before or ""), _lines(after or "")
    was, becomes = (name if text is not None else "/dev/null" for text in (before, after))
    for line in difflib.unified_diff(old, new, was, becomes, lineterm=""):
        yield line.removesuffix("\n")
        if line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Return lines without ends, but mark a last line without line feed, so that it shows as a difference."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n"]
