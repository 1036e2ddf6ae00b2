"""Find native blocks, which Quarto merges into the header."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..markdown.blocks import Block, HeaderBlock, TextBlock, is_native, serialize_blocks
from ..markdown.divs import find_parts
from ..markdown.files import MarkdownDocument, is_notebook
from ..markdown.metadata.body import parse_metadata
from ..markdown.parse import NATIVE_CLOSE, NATIVE_OPEN
from ..markdown.spelling import convert

_FORGOTTEN = "Quarto would forget the place of this metadata block between `---` lines."
BY_HAND = (  # shown for blocks that no command can fix
    "Mend by hand the blocks that are not valid YAML or stand inside a div. Leave a line empty below a rule (`---`), "
    "or write the rule as `***`."
)


def find_native(documents: Iterable[tuple[str, MarkdownDocument]]) -> list[str]:
    """Return a line per native block, and instructions. documents: with names for messages."""
    problems: list[str] = []
    convertible: list[str] = []
    by_hand = False
    for name, document in documents:
        blocks = document.blocks
        lines = native_lines(blocks)
        problems += [f"{name}:{line}: {_FORGOTTEN}" for line in lines]
        remaining = native_lines(convert(blocks, "div")) if lines and not is_notebook(Path(name)) else lines
        by_hand = by_hand or bool(remaining)
        convertible += [name] if len(remaining) < len(lines) else []
    if convertible:
        problems.append(f"To write them as divs, run: lmm convert --to div {shlex.join(convertible)}")
    if by_hand:
        problems.append(BY_HAND)
    return problems


def native_lines(blocks: Sequence[Block]) -> list[int]:
    """Return lines of native blocks except the header, also inside divs, and of lookalikes."""
    lines: list[int] = []
    before = 0
    for at, block in enumerate(blocks):
        if _is_rule_over_text(blocks, at) or is_native(block):
            lines.append(block.line)
        elif isinstance(block, TextBlock) and "---" in block.source:
            starts = [part.start for part in find_parts(block.source) if part.spelling == "native"]
            lines += [before + block.source.count("\n", 0, start) + 1 for start in starts]
        before += block.source.count("\n")
    return lines


def _is_rule_over_text(blocks: Sequence[Block], at: int) -> bool:
    """Return True for a rule above text, which Quarto reads as YAML up to the next rule."""
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
