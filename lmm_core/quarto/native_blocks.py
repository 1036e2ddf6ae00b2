"""Native blocks in Quarto: it merges them into the header, and forgets where they stood."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..markdown.blocks import Block, ErrorBlock, HeaderBlock, MetadataBlock, TextBlock, serialize_blocks
from ..markdown.divs import find_parts
from ..markdown.files import is_notebook
from ..markdown.metadata.body import parse_metadata
from ..markdown.parse import NATIVE_CLOSE, NATIVE_OPEN
from ..markdown.spelling import convert

BY_HAND = (  # what no command mends
    "blocks that are not valid YAML, or stand inside a div, have to be mended by hand; below a rule (`---`) "
    "leave a line empty, or write it as `***`"
)


def find_native(documents: Iterable[tuple[str, Sequence[Block]]]) -> list[str]:
    """Return where native blocks stand in some documents (each with the name that is shown), a line
    each, and what mends them."""
    problems: list[str] = []
    mended: list[str] = []
    by_hand = False
    for name, blocks in documents:
        lines = native_lines(blocks)
        problems += [
            f"{name}:{line}: a metadata block between `---` lines, whose place Quarto forgets" for line in lines
        ]
        left = lines if is_notebook(Path(name)) else native_lines(convert(blocks, "div"))
        by_hand = by_hand or bool(left)
        mended += [name] if len(left) < len(lines) else []
    if mended:
        problems.append(f"write them as divs: lmm convert --to div {shlex.join(mended)}")
    if by_hand:
        problems.append(BY_HAND)
    return problems


def native_lines(blocks: Sequence[Block]) -> list[int]:
    """Lines of the native blocks beside the header, those inside divs included, and what
    Quarto takes for one."""
    lines: list[int] = []
    before = 0
    for at, block in enumerate(blocks):
        if _is_rule_over_text(blocks, at) or _is_native(block):
            lines.append(block.line)
        elif isinstance(block, TextBlock) and "---" in block.source:
            lines += [before + block.source.count("\n", 0, start) + 1 for start in _native_inside(block.source)]
        before += block.source.count("\n")
    return lines


def _is_native(block: Block) -> bool:
    if isinstance(block, ErrorBlock):
        return block.source.lstrip().startswith("-")
    return isinstance(block, MetadataBlock) and not isinstance(block, HeaderBlock) and block.spelling == "native"


def _is_rule_over_text(blocks: Sequence[Block], at: int) -> bool:
    """Whether a rule has text right below it, up to the next rule. Quarto reads that as
    YAML, and stops on a list, and on words together with a header."""
    block = blocks[at]
    if not isinstance(block, TextBlock) or not NATIVE_OPEN.match(block.content):
        return False
    text = serialize_blocks(blocks[at:]).lstrip("\ufeff \t\r\n")
    close = NATIVE_CLOSE.search(text, 3)
    first, *lines = text[: close.start()].split("\n") if close else [""]
    if first.strip() != "---":
        return False
    is_mapping = parse_metadata("\n".join(lines)).content is not None
    return not is_mapping and (lines[0].startswith("- ") or isinstance(blocks[0], HeaderBlock))


def _native_inside(text: str) -> Iterator[int]:
    """Where native blocks start inside the divs of a text."""
    for part in find_parts(text):
        if part.metadata is not None and not part.attributes.classes:
            yield part.start
