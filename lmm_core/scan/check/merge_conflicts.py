"""The markers that git leaves in a file where it could not merge two versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...markdown.blocks import Block, ErrorBlock, MetadataBlock, TextBlock, source_line
from .finding import Finding
from .stray_marks import lines_outside_code

_OURS = re.compile(r"<{7}(?: \S|\r?\Z)")
_BETWEEN = re.compile(r"={7}\r?\Z")
_THEIRS = re.compile(r">{7}(?: \S|\r?\Z)")
MESSAGE = (
    "two versions of a merge stand here: decide which text stays, and take out the lines <<<<<<<, ======= and >>>>>>>"
)


def find_merge_conflicts(blocks: Sequence[Block]) -> Iterator[Finding]:
    """Yield each conflict in a document with its first marker that is left; but not those in code.

    `=======` alone may underline a heading, and `>>>>>>>` alone be a quote."""
    is_open = divided = False
    for line, text in _lines(blocks):
        if _OURS.match(text):
            is_open, divided = True, False
            yield Finding(line, "merge-conflict", MESSAGE)
        elif _BETWEEN.match(text):
            divided = True
        elif _THEIRS.match(text) and divided:
            if not is_open:
                yield Finding(line, "merge-conflict", MESSAGE)
            is_open = divided = False


def _lines(blocks: Sequence[Block]) -> Iterator[tuple[int, str]]:
    """Yield the lines of texts outside code, and those of metadata blocks, each with its number."""
    for block in blocks:
        if "<<<<<<<" in block.source or "=======" in block.source or ">>>>>>>" in block.source:
            first = source_line(block)
            lines = block.source.split("\n")
            is_text = isinstance(block, TextBlock) and not isinstance(block, ErrorBlock)
            if is_text or isinstance(block, ErrorBlock | MetadataBlock):
                found = lines_outside_code(lines) if is_text else enumerate(lines)
                yield from ((first + number, line) for number, line in found)
