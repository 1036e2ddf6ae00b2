"""The header pass: every document gets a title and an identity."""

from __future__ import annotations

from collections.abc import Sequence

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, ErrorBlock, HeaderBlock, HeadingBlock, TextBlock, blank
from ..markdown.metadata import dump_entry
from ..markdown.ownership import digest
from ..markdown.spelling import make_block, settle
from ..markdown.tree import HeaderNode
from .owned import FLOW, State, first_newline, key_state, set_values, write_keys


def scan(blocks: Sequence[Block], name: str = "", docid: str = "", logger: LoggerBase | None = None) -> list[Block]:
    """The document with `~title` and `~docid` in its header where the writer has
    none; a header is made where there is none. Errors in the text are reported.

    The title is the first heading's, else `name` (the file's name without its
    ending); `docid` is the path relative to the project's root. What is empty is
    not written. An empty document stays empty."""
    logger = logger or ConsoleLogger()
    report_errors(blocks, logger)
    if not blocks or (blank(blocks[0].source.lstrip("\ufeff")) and len(blocks) == 1):
        return list(blocks)
    first = blocks[0]
    if isinstance(first, ErrorBlock):
        return list(blocks)
    if isinstance(first, TextBlock) and first.content.startswith("%"):
        _report_title_block(first, logger)
        return list(blocks)
    header = first if isinstance(first, HeaderBlock) else None
    node = HeaderNode([header] if header else [])
    wanted = {"title": _title(blocks, name), "docid": docid}
    values = {
        key: value
        for key, value in wanted.items()
        if value and key_state(node.properties, key, digest(value)) in (State.MISSING, State.OUTDATED, State.CURRENT)
    }
    changes = set_values(node.properties, values, {key: digest(value) for key, value in values.items()})
    if not changes:
        return list(blocks)
    newline = first_newline(blocks)
    if header is None:
        body = "".join(dump_entry(key, value, key in FLOW, newline) for key, value in changes.items())
        return settle(blocks, [make_block(body, "native", newline, header=True), *blocks])
    write_keys(node, changes, "native", newline, logger)
    return settle(blocks, [*node.metadata, *blocks[1:]])


def report_errors(blocks: Sequence[Block], logger: LoggerBase) -> None:
    """Report each metadata block that cannot be read."""
    for block in blocks:
        if isinstance(block, ErrorBlock):
            logger.error(block.message, block.error_line)


def _title(blocks: Sequence[Block], name: str) -> str:
    return next((block.title for block in blocks if isinstance(block, HeadingBlock) and block.title), name)


def _report_title_block(first: TextBlock, logger: LoggerBase) -> None:
    lines = [line.lstrip("% \t").strip() for line in first.content.split("\n") if line.startswith("%")]
    entries = [dump_entry(key, value) for key, value in zip(("title", "author", "date"), lines, strict=False) if value]
    header = "---\n" + "".join(entries) + "---"
    logger.warning(
        "a Pandoc title block (`%`) cannot hold metadata, so the document gets no header; put this in its place:\n"
        + header,
        first.line,
    )
