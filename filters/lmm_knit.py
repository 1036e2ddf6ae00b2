"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from lmm_core.logging import ListLogger, LocatedLogger
from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.markdown.files import load_markdown
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.markdown.rag_only import NOT_CLOSED
from lmm_core.scan.check.near_misses import find_near_misses, kept_by_none, types_in
from lmm_core.scan.header import report_broken, report_errors
from lmm_core.scan.knit import find_dangling, find_open, knit, lost_message
from lmm_core.scan.references import lost_in
from lmm_core.workflows.typos import read_blocks, typo_lines, with_types

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
from .references import cited, gone_on_other_pages, identifiers, make_readable
from .time_limit import limit_time


def knit_document(document: Document) -> None:
    """Knit the document, and hand it on."""
    _refuse_annotated_output(document)
    if document.source is None:
        _knit_elements(document)
        return
    report_errors(document.blocks, document.logger)
    report_broken(document.blocks, document.logger)
    _report_near_misses(document)
    if document.to_markdown:
        document.blocks = knit(document.blocks, document.rules, document.logger)
        write_text(document, serialize_blocks(document.blocks))
    elif (ast := _elements_of_all(document)) is not None:
        for line, message in find_dangling(document.blocks, document.rules):
            document.logger.warning(message, line)
        document.ast = {**document.ast, "blocks": ast["blocks"], "meta": dict(ast["meta"])}
        _knit_ast(document)
    else:
        _knit_as_text(document)


def _elements_of_all(document: Document) -> dict[str, Any] | None:
    """Return what `as_divs` does, and None where a RAG-only div is not closed: old pandocs take it for text."""
    return as_divs(document) if find_open(document.blocks, document.rules) is None else None


def _report_near_misses(document: Document) -> None:
    """Warn of what is nearly a word of ours, and of types to keep that no part has."""
    for problem in find_near_misses(document.blocks, document.rules):
        document.logger.warning(problem.message, problem.line)
    types = document.rules.div_types | types_in(document.blocks)
    for message in kept_by_none(document.options.keep, types):
        document.logger.warning(f"lmm-keep: {message}")


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
        _refuse_faults(document)
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


def _refuse_faults(document: Document) -> None:
    """Raise FilterError, which stops the render, where a block cannot be read, has lost its place, or
    a word is nearly one of ours, in what the file includes, too: without a project nobody has looked
    before."""
    from lmm_core.quarto.native_blocks import find_native
    from lmm_core.settings.quarto_inputs import with_included

    assert document.path is not None
    folder = Path(os.environ.get("QUARTO_PROJECT_DIR") or document.path.parent)
    read = [*read_blocks(with_included([document.path], folder))]
    rules = with_types(document.rules, [blocks for _, blocks in read])
    documents = [(os.path.relpath(path, folder), blocks) for path, blocks in read]
    if problems := [*typo_lines(documents, rules), *find_native(documents)]:
        raise FilterError("\n".join(problems))


def _knit_ast(document: Document) -> None:
    """Knit Pandoc's elements; they pass untouched where nothing has to go."""
    before = identifiers(document.ast["blocks"])
    header = header_of({"knit": document.ast["meta"]["knit"]}) if "knit" in document.ast["meta"] else None
    words = {"lmm", "knit", "quarto-title-block", *document.rules.div_types}
    if header is not None or mentions(document.ast["blocks"], words):
        from .book import knit_book
        from .elements import dump, load

        doc = load(document.ast)
        doc.content = knit_book(list(doc.content), document.rules, header)
        document.ast = {**document.ast, "blocks": dump(doc)["blocks"]}
    _mend_references(document, before)
    clean_meta(document)
    mark_chain(document)


def _mend_references(document: Document, before: set[str]) -> None:
    """Make references readable whose target is left out, here or (in Quarto) on other pages."""
    blocks = document.ast["blocks"]
    gone = before - identifiers(blocks)
    if document.in_quarto:
        elsewhere = gone_on_other_pages(cited(blocks) - before, document.rules)
        gone |= elsewhere
        _report_lost(document, elsewhere)
    if gone:
        make_readable(blocks, gone)


def _report_lost(document: Document, labels: set[str]) -> None:
    text = document.known.text if document.known is not None and labels else ""
    for at, label in lost_in(text, labels):
        logger = LocatedLogger(document.logger, document.known.locate) if document.known else document.logger
        logger.warning(lost_message(label), text.count("\n", 0, at) + 1)


def main() -> None:
    """Run the command `lmm-knit`, which pandoc starts."""
    if os.environ.get("QUARTO_DOCUMENT_FILE"):
        limit_time("lmm-knit")
    sys.exit(run_filter("lmm-knit", knit_document))


if __name__ == "__main__":
    main()
