"""Print what changes in a file as a unified diff."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator

from ..logging import put, say, visible

_STYLES = {"+++ ": "bold green", "--- ": "bold red", "+": "green", "-": "red", "@": "cyan"}


def print_diff(name: str, before: str | None, after: str | None) -> None:
    """Print the change of a text, where None means that there is no file.

    A file or pipe gets the diff as it is; a terminal gets colours, and invisible characters
    as escapes."""
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
    """Return lines without their ends, but the last one with a line feed if the text has none there.

    So a missing line feed at the end is a difference, and can be told from the others."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n"]
