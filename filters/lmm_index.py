"""`lmm-index`: send the document's chunks to the index, and pass it on untouched."""

from __future__ import annotations

import sys

from lmm_core.errors import LmmError
from lmm_core.markdown.blocks import Block, HeaderBlock, serialize_blocks
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.settings.project import Project
from lmm_core.workflows.index import STDIN, Upload, client_from_config, describe_counts
from lmm_core.workflows.models import Models
from lmm_core.workflows.passes import docid_of

from .document import (
    Document,
    as_divs,
    clean_meta,
    elements_of,
    finish_elements,
    header_of,
    left_text,
    mark_chain,
    run_filter,
    write_text,
)
from .pandoc_run import FilterError, filter_name


def index(document: Document) -> None:
    """Index the document, and hand it on. What the store or a model cannot do is reported.
    Raises FilterError where the document is knitted already, or has no identity."""
    _refuse_knitted(document)
    blocks = _blocks(document)
    docid = _identity(document, blocks)
    project = document.project_for(blocks)
    if project is not None:
        _send(document, project, blocks, docid, docid if document.path is not None else f"{STDIN}{docid}")
    if document.source is not None and document.to_markdown:
        write_text(document, serialize_blocks(document.blocks))
    elif document.to_markdown:
        clean_meta(document)
        mark_chain(document)
    else:
        finish_elements(document, (as_divs(document) if document.source else None) or document.ast)


def _refuse_knitted(document: Document) -> None:
    names = document.run.filters[: document.place] if document.run and document.place is not None else []
    if any(filter_name(name) == "lmm-knit" for name in names):
        raise FilterError(
            "lmm-knit has taken RAG-only material and metadata out already: put -F lmm-index before -F lmm-knit"
        )


def _blocks(document: Document) -> list[Block]:
    """The document's text with its annotations: what an earlier filter has left, else the
    source, else the file as it is, else Pandoc's elements."""
    if (text := left_text(document)) is not None:
        return parse_markdown_text(text)
    if document.source is not None:
        return document.blocks
    if document.known is not None:
        return parse_markdown_text(document.known.text)
    elements = elements_of(document, with_text=True)
    header: list[Block] = [header_of(document.ast["meta"])] if document.ast["meta"] else []
    return [*header, *elements.blocks]


def _identity(document: Document, blocks: list[Block]) -> str:
    """The id of a document that names none: its path."""
    if document.path is not None:
        return docid_of(document.path)
    header = blocks[0] if blocks else None
    content = header.content if isinstance(header, HeaderBlock) else {}
    own = content.get("docid=") or content.get("docid") or content.get("~docid")
    if own is None:
        raise FilterError("standard input has no name: give the document a `docid` in its header, or pandoc its file")
    return str(own)


def _send(document: Document, project: Project, blocks: list[Block], docid: str, source: str) -> None:
    from lmm_core.models.chat import run

    models = Models(document.options.model, warn=document.logger.warning)

    async def work() -> str:
        store = client_from_config(project)
        try:
            counts = await Upload(project, store, models, logger=document.logger).send(blocks, docid, source)
            return describe_counts(counts)
        finally:
            await models.close()
            store.close()

    try:
        document.logger.info(run(work()))
    except LmmError as error:
        document.logger.error(f"not indexed: {error}")


def main() -> None:
    """The command `lmm-index`, which pandoc runs."""
    sys.exit(run_filter("lmm-index", index))


if __name__ == "__main__":
    main()
