"""`lmm-knit`: the lecture notes, without metadata and RAG-only material."""

from __future__ import annotations

import sys

from lmm_core.markdown.blocks import serialize_blocks
from lmm_core.scan.knit import find_dangling, knit

from .document import (
    Document,
    as_divs,
    elements_of,
    finish_elements,
    mark_chain,
    parse_as_input,
    require_places,
    run_filter,
    write_elements,
    write_text,
)
from .pandoc_run import base_format


def knit_document(document: Document) -> None:
    """Knit the document, and hand it on."""
    if document.source is None:
        _knit_elements(document)
    elif document.to_markdown:
        document.blocks = knit(document.blocks, document.rules, document.logger)
        write_text(document, serialize_blocks(document.blocks))
    elif _reader_lacks_divs(document):
        blocks = knit(document.blocks, document.rules, document.logger)
        same = serialize_blocks(blocks) == serialize_blocks(document.blocks)
        finish_elements(document, document.ast if same else parse_as_input(document, serialize_blocks(blocks)))
    else:
        for line, message in find_dangling(document.blocks, document.rules):
            document.logger.warning(message, line)
        document.ast = {**document.ast, **as_divs(document)}
        _knit_ast(document)


def _reader_lacks_divs(document: Document) -> bool:
    return document.run is not None and base_format(document.run.reader) not in ("markdown", "commonmark_x")


def _knit_elements(document: Document) -> None:
    require_places(document)
    if document.to_markdown:
        elements = elements_of(document, with_text=False)
        from .elements import knit_elements

        elements.doc.content = knit_elements(list(elements.doc.content), document.rules)
        document.blocks = elements.blocks
        kept = {id(element) for element in elements.doc.content}
        document.blocks = [block for block in elements.blocks if id(elements.of_block[id(block)]) in kept]
        write_elements(document)
    else:
        _knit_ast(document)


def _knit_ast(document: Document) -> None:
    """Knit Pandoc's elements; they pass untouched where nothing has to go."""
    classes = {"lmm", *document.rules.div_types}
    if _mentions(document.ast["blocks"], classes):
        from .elements import dump, knit_elements, load

        doc = load(document.ast)
        doc.content = knit_elements(list(doc.content), document.rules)
        document.ast = {**document.ast, "blocks": dump(doc)["blocks"]}
    meta = document.ast["meta"]
    document.ast["meta"] = {key: value for key, value in meta.items() if not key.startswith("~")}
    mark_chain(document)


def _mentions(node: object, words: set[str]) -> bool:
    """Whether one of the words stands as a text of its own anywhere in some JSON."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item in words:
                return True
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def main() -> None:
    """The command `lmm-knit`, which pandoc runs."""
    sys.exit(run_filter("lmm-knit", knit_document))


if __name__ == "__main__":
    main()
