"""Running a pass in a filter: on the source's text where that is at hand, else on
Pandoc's elements."""

from __future__ import annotations

from collections.abc import Callable

from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.scan.header import report_errors

from .pandoc.document import (
    Document,
    as_divs,
    elements_of,
    finish_elements,
    header_of,
    leave_text,
    save_text,
    write_elements,
    write_text,
)

Pass = Callable[[list[Block]], list[Block]]


def apply_pass(document: Document, work: Pass, what: str) -> None:
    """Run a pass on the document, and hand it on. `what` the pass makes (`annotations`)
    is not made where nothing would keep it."""
    if document.source is None:
        _apply_to_elements(document, work)
        return
    if not (document.to_markdown or document.options.save or document.followed):
        document.logger.warning(
            f"nothing keeps {what} in {document.target}, so none were made; write markdown, or add -M lmm-save=FILE"
        )
        report_errors(document.blocks, document.logger)
        finish_elements(document, as_divs(document) or document.ast)
        return
    document.blocks = work(document.blocks)
    text = serialize_blocks(document.blocks)
    if document.options.save:
        save_text(document, text)
    if document.to_markdown:
        write_text(document, text)
    else:
        finish_elements(document, as_divs(document) or document.ast)
        leave_text(document, text)


def _apply_to_elements(document: Document, work: Pass) -> None:
    elements = elements_of(document, with_text=True)
    header: list[Block] = [header_of(document.ast["meta"])] if document.ast["meta"] else []
    document.blocks = work([*header, *elements.blocks])
    if document.options.save:
        document.logger.error("lmm-save needs the source text: give pandoc the file by its name")
    write_elements(document)
    if not document.to_markdown:
        finish_elements(document, document.ast)
