"""`lmm-chat`: answers to questions, and proposed edits."""

from __future__ import annotations

import sys

from lmm_core.markdown.blocks import Block
from lmm_core.scan.documents.talk import DocumentChat
from lmm_core.settings.models import Models

from .pandoc.document import FilterDocument, FilterOutput
from .process import apply_pass, run_filter


def talk(document: FilterDocument) -> FilterOutput:
    """Ask the document's questions, and return it with the replies."""
    models = Models(document.options.model, warn=document.logger.warning)
    started: list[DocumentChat] = []
    output = apply_pass(document, lambda blocks: _talk(document, blocks, models, started), "answers")
    for chat in started:  # all errors are past
        chat.delivered()
    return output


def _talk(document: FilterDocument, blocks: list[Block], models: Models, started: list[DocumentChat]) -> list[Block]:
    project = document.project_for(blocks)
    if project is None:
        return blocks
    # edits add text, which needs a source
    chat = DocumentChat(models, project, document.logger, edits=document.source is not None)
    if not chat.start(blocks):
        return blocks
    started.append(chat)
    from lmm_core.models.chat import run, then_close

    run(then_close(chat.ask(), models))
    if models.usage.requests or models.usage.cached:
        document.logger.info(str(models.usage))
    return chat.apply(blocks)


def main() -> None:
    """Run the command `lmm-chat`."""
    sys.exit(run_filter("lmm-chat", talk))
