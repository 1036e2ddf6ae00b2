"""`lmm-rag`: questions and a summary for each section."""

from __future__ import annotations

import sys
from dataclasses import replace

from lmm_core.errors import ModelError
from lmm_core.logging import KeepingLogger, ListLogger
from lmm_core.markdown.blocks import Block, serialize_blocks
from lmm_core.models.sources import STAND_IN_NAME
from lmm_core.scan.annotations.tally import Tally
from lmm_core.workflows.document import docid_of
from lmm_core.workflows.known.cache import Known
from lmm_core.workflows.known.settled_key import settled_key, settled_settings
from lmm_core.workflows.models import Models

from .pandoc.document import FilterDocument, FilterOutput
from .pass_run import apply_pass
from .process import run_filter


def annotate(document: FilterDocument) -> FilterOutput:
    """Run the header and RAG passes on a document, and return the output."""
    return apply_pass(document, lambda blocks: _annotate(document, blocks), "annotations")


def _annotate(document: FilterDocument, blocks: list[Block]) -> list[Block]:
    """Return the blocks, annotated. A text that is known to need nothing is not looked into."""
    key, known = _settled_key(document, blocks), Known()
    if key and known.find([key]):
        return blocks
    told = KeepingLogger(document.logger)
    made, tally = _work(replace(document, logger=told), blocks)
    is_settled = tally is not None and tally.names <= {STAND_IN_NAME} and not told.reports
    if key and is_settled and serialize_blocks(made) == serialize_blocks(blocks):
        known.keep({key: True})
    return made


def _settled_key(document: FilterDocument, blocks: list[Block]) -> bytes | None:
    """Return the key under which it is filed that a document needs nothing, None if it has to be looked into."""
    path, quiet = document.path, ListLogger()
    project = replace(document, logger=quiet).project_for(blocks)
    if path is None or project is None or quiet.reports:
        return None
    try:
        verbatim = {"verbatim": document.source is not None}
        settings = settled_settings(project, Models(document.options.model), verbatim)
    except ModelError:  # reported when the work is done
        return None
    return settled_key(serialize_blocks(blocks).encode("utf-8", "surrogatepass"), settings, path.stem, docid_of(path))


def _work(document: FilterDocument, blocks: list[Block]) -> tuple[list[Block], Tally | None]:
    from lmm_core.scan.header import scan
    from lmm_core.workflows.document import new_rag_run

    path = document.path
    docid = docid_of(path) if path is not None else ""
    scanned = scan(blocks, path.stem if path else "", docid, document.logger)
    project = document.project_for(blocks)
    if project is None:
        return scanned, None
    models = Models(document.options.model, warn=document.logger.warning)
    try:
        run = new_rag_run(project, models.annotator(project), docid, document.logger)
    except ModelError as error:
        document.logger.error(f"The document was not annotated: {error}")
        return scanned, None
    run.verbatim = document.source is not None
    run.start(scanned)
    if run.open:
        run.ask_alone()
        if models.usage.requests or models.usage.cached:
            document.logger.info(str(models.usage))
    made = run.finish()
    is_kept = document.call.to_markdown or bool(document.options.save)
    if is_kept and serialize_blocks(made) != serialize_blocks(blocks):
        _say_who(document, run.tally)
    return made, None if run.tally.failed else run.tally


def _say_who(document: FilterDocument, tally: Tally) -> None:
    """Say that no model was asked, if that is so, and what was therefore left out."""
    if tally.names == {STAND_IN_NAME}:
        document.logger.info(f"annotated{tally.who}")
    if tally.left_out:
        document.logger.info(tally.left_out)


def main() -> None:
    """Run the command `lmm-rag`, which pandoc starts."""
    sys.exit(run_filter("lmm-rag", annotate))


if __name__ == "__main__":
    main()
