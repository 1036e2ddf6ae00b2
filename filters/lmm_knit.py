"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import sys

from lmm_core.logging import ListLogger, LocatedLogger
from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.markdown.files import load_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.scan.header import report_broken, report_errors
from lmm_core.scan.knit import NOT_CLOSED, find_dangling, find_open, knit

from .document import (
    Document,
    as_divs,
    clean_meta,
    elements_of,
    finish_elements,
    header_of,
    holds_markdown,
    mark_chain,
    mentions,
    parse_as_input,
    require_places,
    run_filter,
    write_elements,
    write_text,
)
from .pandoc_run import FilterError


def knit_document(document: Document) -> None:
    """Knit the document, and hand it on."""
    _refuse_annotated_output(document)
    if document.source is None:
        _knit_elements(document)
        return
    report_errors(document.blocks, document.logger)
    report_broken(document.blocks, document.logger)
    if document.to_markdown:
        document.blocks = knit(document.blocks, document.rules, document.logger)
        write_text(document, serialize_blocks(document.blocks))
    elif (ast := as_divs(document)) is not None:
        for line, message in find_dangling(document.blocks, document.rules):
            document.logger.warning(message, line)
        document.ast = {**document.ast, "blocks": ast["blocks"], "meta": dict(ast["meta"])}
        _knit_ast(document)
    else:
        _knit_as_text(document)


def _refuse_annotated_output(document: Document) -> None:
    """Raise FilterError where the output holds what lecture notes have not, so that it is
    somebody's source: annotations, or what is RAG-only."""
    output = document.run.output if document.run is not None else None
    if output is None or not holds_markdown(output):
        return
    text = load_markdown(output).text
    if serialize_blocks(knit(parse_markdown_text(text), document.rules, ListLogger())) != text:
        raise FilterError(
            f"refused: {output} has annotations, or parts that are left out of lecture notes, so that it is a source; "
            "name another output, or remove it first"
        )


def _knit_as_text(document: Document) -> None:
    """Where pandoc does not see the blocks: knit the text, and let pandoc read that."""
    before = serialize_blocks(document.blocks)
    after = serialize_blocks(knit(document.blocks, document.rules, document.logger))
    finish_elements(document, document.ast if after == before else parse_as_input(document, after))


def _knit_elements(document: Document) -> None:
    require_places(document)
    if document.in_quarto and document.known is not None:
        _report(document, parse_markdown_text(document.known.text))
    if not document.to_markdown:
        _knit_ast(document)
        return
    from .elements import knit_elements

    elements = elements_of(document, with_text=False)
    elements.doc.content = knit_elements(list(elements.doc.content), document.rules)
    kept = {id(element) for element in elements.doc.content}
    document.blocks = [block for block in elements.blocks if id(elements.of_block[id(block)]) in kept]
    write_elements(document)


def _report(document: Document, blocks: list[Block]) -> None:
    """What is wrong in the file, which Quarto cannot know."""
    assert document.known is not None
    logger = LocatedLogger(document.logger, document.known.locate)
    report_errors(blocks, logger)
    if (line := find_open(blocks, document.rules)) is not None:
        file, line = document.known.locate(line)
        raise FilterError(f"{file}:{line}: {NOT_CLOSED}")
    for line, message in find_dangling(blocks, document.rules):
        logger.warning(message, line)


def _knit_ast(document: Document) -> None:
    """Knit Pandoc's elements; they pass untouched where nothing has to go."""
    header = header_of({"knit": document.ast["meta"]["knit"]}) if "knit" in document.ast["meta"] else None
    if header is not None or mentions(document.ast["blocks"], {"lmm", "knit", *document.rules.div_types}):
        from .elements import dump, knit_elements, load

        doc = load(document.ast)
        doc.content = knit_elements(list(doc.content), document.rules, header)
        document.ast = {**document.ast, "blocks": dump(doc)["blocks"]}
    clean_meta(document)
    mark_chain(document)


def main() -> None:
    """The command `lmm-knit`, which pandoc runs."""
    sys.exit(run_filter("lmm-knit", knit_document))


if __name__ == "__main__":
    main()
