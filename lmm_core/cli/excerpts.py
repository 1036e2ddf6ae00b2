"""Excerpts as a terminal shows them."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator

import click

from ..markdown.regions import split_fences

_BOLD, _ESCAPE = re.compile(r"(?<!\\)\*\*(.+?)(?<!\\)\*\*"), re.compile(r"\\([^\w\s])")
WIDTH = 84  # characters of a line of an excerpt


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
