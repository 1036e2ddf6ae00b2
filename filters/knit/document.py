"""The lecture notes by `lmm-knit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lmm_core.logging import LocatedLogger
from lmm_core.markdown.blocks import Block, TextBlock, serialize_blocks
from lmm_core.markdown.edits import restore_originals
from lmm_core.markdown.metadata.keys import DECIDING
from lmm_core.markdown.tree import blocks_to_tree, node_block
from lmm_core.markdown.visibility import RAG_ONLY, verdicts
from lmm_core.scan.check.mistakes import refuse_mistakes
from lmm_core.scan.header import report_broken_edits
from lmm_core.scan.knit import knit

from ..pandoc.document import FilterDocument, FilterOutput, require_places
from ..pandoc.meta import header_from
from ..pandoc.write_elements import as_divs, hand_on, parse_as_input, write_elements, write_rewritten
from ..pandoc.write_text import write_text
from .checks import (
    check_quarto_file,
    refuse_annotated_output,
    report_dangling,
    require_reader,
)

if TYPE_CHECKING:
    import panflute as pf  # not needed for knitting text


def knit_document(document: FilterDocument) -> FilterOutput:
    """Return the lecture notes.

    Raise FilterError if the output is a source, or metadata blocks have lost their places.
    """
    refuse_annotated_output(document)
    return _knit_source(document) if document.source is not None else _knit_without_source(document)


def _knit_source(document: FilterDocument) -> FilterOutput:
    refuse_mistakes(document.blocks, document.rules, document.logger)
    report_broken_edits(document.blocks, document.logger)
    if document.call.to_markdown:
        return write_text(document, _knitted_text(document))
    ast = as_divs(document, _hidden_as_divs(document))
    if ast is None:
        return _knit_as_text(document)
    report_dangling(document.blocks, document.rules, document.logger)
    return _knit_ast(document, ast)


def _hidden_as_divs(document: FilterDocument) -> list[Block]:
    """Return the blocks with each hidden text in a div, since pandoc may read one text as several elements."""
    blocks = restore_originals(document.blocks).blocks
    if document.call.run.reads_files_apart:  # the text cannot be read again
        return blocks
    tree = blocks_to_tree(blocks)
    hidden = {id(node_block(node)) for node, is_out in verdicts(tree, document.rules) if is_out} if tree else set()
    return [
        replace(block, source=f":::::: {RAG_ONLY}\n{block.content}\n::::::\n\n")
        if type(block) is TextBlock and id(block) in hidden
        else block
        for block in blocks
    ]


def _knitted_text(document: FilterDocument) -> str:
    return serialize_blocks(knit(document.blocks, document.rules, document.logger))


def _knit_as_text(document: FilterDocument) -> FilterOutput:
    before = serialize_blocks(document.blocks)
    after = _knitted_text(document)
    return write_elements(document, document.ast if after == before else parse_as_input(document, after))


def _knit_without_source(document: FilterDocument) -> FilterOutput:
    require_places(document)
    require_reader(document)
    if (text := document.input_text) is not None and document.call.in_quarto:
        check_quarto_file(document, text)
    elif text is not None:
        refuse_mistakes(text.blocks, document.rules, LocatedLogger(document.logger, text.locate))
    if document.call.to_markdown:
        from ..pandoc.elements import blocks_of
        from .elements import Knitting

        doc = document.load(document.ast)
        doc.content = Knitting(document.rules).knit(list(doc.content))
        return write_rewritten(document, {**document.ast, "blocks": blocks_of(doc)})
    return _knit_ast(document, document.ast)


def _knit_ast(document: FilterDocument, ast: dict[str, Any]) -> FilterOutput:
    from ..pandoc.elements import blocks_of
    from .elements import knit_book

    doc = document.load(ast)
    header = header_from({key: value for key, value in ast["meta"].items() if key in DECIDING})
    doc.content, left_out = knit_book(list(doc.content), document.rules, header)
    _mend_references(doc, left_out)
    return hand_on(document, {**ast, "blocks": blocks_of(doc)})


def _mend_references(doc: pf.Doc, left_out: Sequence[pf.Element]) -> None:
    from .elements import identifiers, make_readable

    if labels := identifiers(left_out):
        labels -= identifiers([doc])
        make_readable(doc, labels)
