"""The header pass: a title and an id for every document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, ErrorBlock, FrontMatterBlock, HeaderBlock, HeadingBlock, blank
from ..markdown.edits import broken_edits, restore_originals
from ..markdown.metadata.keys import digest
from ..markdown.spelling import settle
from ..markdown.tree import HeaderNode
from .check.document import CheckedDocument
from .system_keys import State, first_newline, key_state, set_values, write_keys

_LIST_OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n- ")


def scan(blocks: Sequence[Block], name: str = "", docid: str = "", logger: LoggerBase | None = None) -> list[Block]:
    """Return the document with missing `~title` and `~docid` in its header, and report errors.

    name: title of documents without headings
    docid: path from the project's root
    """
    logger = logger or ConsoleLogger()
    report_errors(blocks, logger)
    if report_broken_edits(blocks, logger) or not _can_have_header(blocks, logger):
        return list(blocks)
    header = blocks[0] if isinstance(blocks[0], HeaderBlock) else None
    node = HeaderNode([header] if header else [])
    fields = {"title": _title(restore_originals(blocks).blocks, name), "docid": docid}
    hashes = {key: digest(value) for key, value in fields.items()}
    writable = (State.MISSING, State.OUTDATED, State.CURRENT)
    values = {k: v for k, v in fields.items() if v and key_state(node.properties, k, hashes[k]) in writable}
    changes = set_values(node.properties, values, hashes)
    if not changes:
        return list(blocks)
    write_keys(node, changes, "native", first_newline(blocks), logger)
    return settle(blocks, [*node.metadata, *(blocks[1:] if header else blocks)])


def _can_have_header(blocks: Sequence[Block], logger: LoggerBase) -> bool:
    first = blocks[0] if blocks else None
    if first is None or isinstance(first, ErrorBlock) or (len(blocks) == 1 and blank(first.source.lstrip("\ufeff"))):
        return False
    if isinstance(first, FrontMatterBlock):
        logger.warning(
            f"the front matter is not YAML ({first.language}), so the document gets no header; to have one, "
            "write the front matter as YAML between two lines `---`",
            first.line,
        )
        return False
    return True


def report_broken_edits(blocks: Sequence[Block], logger: LoggerBase) -> bool:
    """Report edits with incomplete markers; return True if there are any."""
    problems = broken_edits(blocks)
    for problem in problems:
        logger.error(problem.message, problem.line)
    return bool(problems)


def report_errors(blocks: Sequence[Block], logger: LoggerBase) -> None:
    """Report unreadable metadata blocks."""
    for problem in CheckedDocument(blocks).find_errors():
        logger.error(problem.message, problem.line)


def is_list_header(blocks: Sequence[Block]) -> bool:
    """Return True if the header is a YAML list, as LM markdown wrote."""
    return bool(blocks) and isinstance(blocks[0], ErrorBlock) and _LIST_OPEN.match(blocks[0].source) is not None


def _title(blocks: Sequence[Block], name: str) -> str:
    return next((block.title for block in blocks if isinstance(block, HeadingBlock) and block.title), name)
