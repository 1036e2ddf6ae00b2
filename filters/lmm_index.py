"""`lmm-index`: index the document, and hand it on unchanged."""

from __future__ import annotations

import sys

from lmm_core.errors import FilterError, LmmError
from lmm_core.indexing.collection import open_index
from lmm_core.indexing.refresh import Refresh
from lmm_core.indexing.sources import STDIN
from lmm_core.markdown.blocks import Block, HeaderBlock, serialize_blocks
from lmm_core.markdown.parse import parse_markdown_text
from lmm_core.scan.documents.document import docid_of
from lmm_core.settings.models import Models
from lmm_core.settings.project import Project

from .pandoc.document import FilterDocument, FilterOutput, read_elements
from .pandoc.run import filter_name
from .pandoc.write_elements import as_divs, hand_on, left_text, write_elements
from .pandoc.write_text import write_text
from .process import run_filter


def index(document: FilterDocument) -> FilterOutput:
    """Send a document to the index, and return it unchanged. Raise FilterError if it is knitted, or has no id."""
    _refuse_knitted(document)
    blocks = _blocks(document)
    docid = _docid(document, blocks)
    project = document.project_for(blocks)
    if project is not None:
        _send(document, project, blocks, docid, docid if document.path is not None else f"{STDIN}{docid}")
    return _hand_on(document)


def _refuse_knitted(document: FilterDocument) -> None:
    if any(filter_name(name) == "lmm-knit" for name in document.call.filters_before):
        raise FilterError(
            "lmm-knit has already removed RAG-only material and metadata. Put -F lmm-index before -F lmm-knit."
        )


def _blocks(document: FilterDocument) -> list[Block]:
    if (text := left_text(document)) is not None:
        return parse_markdown_text(text)
    if document.source is not None:
        return document.blocks
    if document.input_text is not None:
        return parse_markdown_text(document.input_text.text)
    return read_elements(document)[1]


def _hand_on(document: FilterDocument) -> FilterOutput:
    to_markdown = document.call.to_markdown
    if document.source is None:
        return hand_on(document, document.ast) if to_markdown else write_elements(document, document.ast)
    if to_markdown:
        return write_text(document, serialize_blocks(document.blocks))
    return write_elements(document, as_divs(document, document.blocks) or document.ast)


def _docid(document: FilterDocument, blocks: list[Block]) -> str:
    if document.path is not None:
        return docid_of(document.path)
    header = blocks[0] if blocks else None
    content = header.content if isinstance(header, HeaderBlock) else {}
    own = content.get("docid=") or content.get("docid") or content.get("~docid")
    if own is None:
        raise FilterError(
            "Standard input has no name. Give the document a `docid` in its header, or give pandoc its file."
        )
    return str(own)


def _send(document: FilterDocument, project: Project, blocks: list[Block], docid: str, source: str) -> None:
    from lmm_core.models.chat import run

    models = Models(document.options.model, warn=document.logger.warning)

    async def work() -> str:
        async with open_index(project, models) as store:
            counts = await Refresh(project, store, models, logger=document.logger).send(blocks, docid, source)
            return counts.describe()

    try:
        document.logger.info(run(work()))
    except LmmError as error:
        document.logger.error(f"The document was not indexed: {error}")


def main() -> None:
    """Run the command `lmm-index`."""
    sys.exit(run_filter("lmm-index", index))
