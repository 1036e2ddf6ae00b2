"""`lmm-rag`: questions and a summary for each section."""

from __future__ import annotations

import sys

from lmm_core.errors import ModelError
from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.models.sources import STAND_IN_NAME
from lmm_core.scan.documents.document import new_rag_run
from lmm_core.scan.header import report_errors
from lmm_core.scan.rag import Tally
from lmm_core.settings.models import Models

from .pandoc.document import FilterDocument, FilterOutput
from .process import apply_pass, run_filter


def annotate(document: FilterDocument) -> FilterOutput:
    """Run the header and RAG passes on a document."""
    return apply_pass(document, lambda blocks: _work(document, blocks), "annotations")


def _work(document: FilterDocument, blocks: list[Block]) -> list[Block]:
    project = document.project_for(blocks)
    if project is None:
        report_errors(blocks, document.logger)
        return blocks
    models = Models(document.options.model, warn=document.logger.warning)
    try:
        run = new_rag_run(project, models.annotator(project), document.path, document.logger)
    except ModelError as error:
        report_errors(blocks, document.logger)
        document.logger.error(f"The document was not annotated: {error}")
        return blocks
    run.verbatim = document.source is not None
    run.start(blocks)
    if run.open:
        run.ask_alone()
        if models.usage.requests or models.usage.cached:
            document.logger.info(str(models.usage))
    annotated = run.finish()
    if document.call.to_markdown and serialize_blocks(annotated) != serialize_blocks(blocks):
        _say_who(document, run.tally)
    return annotated


def _say_who(document: FilterDocument, tally: Tally) -> None:
    if tally.names == {STAND_IN_NAME}:
        document.logger.info(f"annotated{tally.by_annotators}")
    if tally.left_out:
        document.logger.info(tally.left_out)


def main() -> None:
    """Run the command `lmm-rag`."""
    sys.exit(run_filter("lmm-rag", annotate))
