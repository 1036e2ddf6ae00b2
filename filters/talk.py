"""What `lmm-chat` and `lmm-edit` share: talking to the model about a document."""

from __future__ import annotations

from lmm_core.markdown.blocks import Block
from lmm_core.workflows.models import Models
from lmm_core.workflows.talk import DocumentChat

from .pandoc.document import Document
from .pass_run import apply_pass


def talk(document: Document, chats: bool) -> None:
    """Ask what the document asks, and hand it on with the answers."""
    models = Models(document.options.model, warn=document.logger.warning)
    talks: list[DocumentChat] = []
    what = "answers" if chats else "new versions"
    apply_pass(document, lambda blocks: _talk(document, blocks, models, chats, talks), what)
    for one in talks:  # the document has been handed on: nothing can go wrong with it any more
        one.delivered()


def _talk(
    document: Document, blocks: list[Block], models: Models, chats: bool, talks: list[DocumentChat]
) -> list[Block]:
    project = document.project_for(blocks)
    if project is None:
        return blocks
    # an edit adds text, which only a source text can take up
    edits = document.source is not None
    one = DocumentChat(models, project, document.logger, chats, edits)
    if not one.start(blocks):
        return blocks
    talks.append(one)
    from lmm_core.models.chat import run

    run(_ask(one, models))
    if models.usage.requests or models.usage.cached:
        document.logger.info(str(models.usage))
    return one.apply(blocks)


async def _ask(one: DocumentChat, models: Models) -> None:
    try:
        await one.ask()
    finally:
        await models.close()
