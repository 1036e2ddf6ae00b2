"""Passes in filters, on the source text or else on Pandoc's elements."""

from __future__ import annotations

from collections.abc import Callable

from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.scan.header import report_errors

from .pandoc.document import FilterDocument, FilterOutput, read_elements
from .pandoc.write_elements import as_divs, write_blocks, write_elements
from .pandoc.write_text import write_text

Pass = Callable[[list[Block]], list[Block]]


def apply_pass(document: FilterDocument, work: Pass, result: str) -> FilterOutput:
    """Run a pass on a document, unless the result would be lost.

    result: a noun for messages (`annotations`)
    """
    if document.source is None:
        return _apply_to_elements(document, work)
    call = document.call
    if not (call.to_markdown or call.is_followed):
        document.logger.warning(
            f"Nothing keeps {result} in {call.target}, so none were made. Write markdown (-t markdown)."
        )
        report_errors(document.blocks, document.logger)
        return write_elements(document, as_divs(document, document.blocks) or document.ast)
    blocks = work(document.blocks)
    text = serialize_blocks(blocks)
    if call.to_markdown:
        return write_text(document, text)
    return write_elements(document, as_divs(document, blocks) or document.ast, text)


def _apply_to_elements(document: FilterDocument, work: Pass) -> FilterOutput:
    elements, blocks = read_elements(document)
    blocks = work(blocks)
    return write_blocks(document, elements, blocks)
