"""Print excerpts in a terminal."""

from __future__ import annotations

import re
import textwrap

from ..logging import say
from ..markdown.regions import split_fences

WIDTH = 84  # characters
_INDENT = "    "
_BOLD, _ESCAPE = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*"), re.compile(r"\\([^\w\s])")


def print_excerpt(markdown: str) -> None:
    """Print an excerpt: wrapped prose, verbatim code, words of the question in bold."""
    for is_code, piece in split_fences(markdown):
        if is_code:
            say("".join(f"{_INDENT * 2}{line}\n" for line in piece.strip("\n").split("\n")[1:-1]), nl=False)
            continue
        for paragraph in filter(str.strip, piece.split("\n")):
            for line in textwrap.wrap(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False):
                _print_line(line)


def _print_line(line: str) -> None:
    say(_INDENT, nl=False)
    for at, part in enumerate(_BOLD.split(line)):  # odd parts are bold
        say(_ESCAPE.sub(r"\1", part), nl=False, style="bold" if at % 2 else "")
    say("")
