"""Anchors: the lines that MyST and GitHub put directly above a heading, so that links can name it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .blocks import Block, TextBlock
from .parse import parse_markdown_text

_ANCHOR = r"(?:\([^()\n]+\)=|<a\s[^<>\n]*>\s*</a>|<a\s[^<>\n]*/>)[ \t]*\r?\n"
_ANCHORS = re.compile(rf"\ufeff?\s*((?:{_ANCHOR})+)(?=#{{1,6}}[ \t])")


def without_anchors(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks with headings where one stands under anchors; the anchors are left out.

    Pandoc reads `(label)=` or `<a name="label"></a>` with `# Title` in the next line as one paragraph, and so do we
    wherever a document is written or rendered. For a search, such books would lose their titles."""
    return [made for block in blocks for made in _without(block)]


def _without(block: Block) -> Iterator[Block]:
    found = _ANCHORS.match(block.source) if type(block) is TextBlock else None
    if found is None:
        yield block
        return
    before = block.line - 1 + found[1].count("\n")
    for made in parse_markdown_text(block.source[found.end() :]):
        made.line += before
        yield made
