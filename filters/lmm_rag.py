"""`lmm-rag`: annotate each section with questions and a summary."""

from __future__ import annotations

import sys
from typing import Any

from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.markdown_files import docid_of
from lmm_core.scan.header import report_errors, scan
from lmm_core.scan.rag import scan_rag

from .document import (
    Document,
    as_divs,
    elements_of,
    finish_elements,
    header_of,
    run_filter,
    save_text,
    write_elements,
    write_text,
)


def annotate(document: Document) -> None:
    """Run the header and RAG passes on the document, and hand it on."""
    if document.source is None:
        _annotate_elements(document)
        return
    if not (document.to_markdown or document.options.save or document.followed):
        document.logger.warning(
            f"nothing keeps annotations in {document.target}, so none were made; "
            "write markdown, or add -M lmm-save=FILE"
        )
        report_errors(document.blocks, document.logger)
        finish_elements(document, as_divs(document) or document.ast)
        return
    document.blocks = _passes(document, document.blocks)
    text = serialize_blocks(document.blocks)
    if document.options.save:
        save_text(document, text)
    if document.to_markdown:
        write_text(document, text)
    else:
        finish_elements(document, as_divs(document) or document.ast)


def _passes(document: Document, blocks: list[Block]) -> list[Block]:
    path, docid = document.path, ""
    if path is not None:
        docid = docid_of(path)
    spelling: Any = document.options.spelling or document.settings.spelling
    scanned = scan(blocks, path.stem if path else "", docid, document.logger)
    return scan_rag(
        scanned,
        docid=docid,
        spelling=spelling,
        rules=document.rules,
        verbatim=document.source is not None,
        logger=document.logger,
    )


def _annotate_elements(document: Document) -> None:
    """The same, on Pandoc's elements."""
    elements = elements_of(document, with_text=True)
    header: list[Block] = [header_of(document.ast["meta"])] if document.ast["meta"] else []
    document.blocks = _passes(document, [*header, *elements.blocks])
    if document.options.save:
        document.logger.error("lmm-save needs the source text: give pandoc the file by its name")
    write_elements(document)
    if not document.to_markdown:
        finish_elements(document, document.ast)


def main() -> None:
    """The command `lmm-rag`, which pandoc runs."""
    sys.exit(run_filter("lmm-rag", annotate))


if __name__ == "__main__":
    main()
