"""Talk to a model about a document, for `lmm-chat` and `lmm-edit`."""

from __future__ import annotations

from lmm_core.markdown.blocks import Block
from lmm_core.scan.documents.talk import DocumentChat
from lmm_core.settings.models import Models

from .pandoc.document import FilterDocument, FilterOutput
from .pass_run import apply_pass


def talk(document: FilterDocument, chats: bool) -> FilterOutput:
    """Ask the model what the document asks, and return the document with the replies.

    chats: answer questions and messages, not only the requests for edits."""
    models = Models(document.options.model, warn=document.logger.warning)
    started: list[DocumentChat] = []
    output = apply_pass(
        document,
        lambda blocks: _talk(document, blocks, models, chats, started),
        "answers" if chats else "new versions",
    )
    for chat in started:  # nothing can go wrong with the document any more
        chat.delivered()
    return output


def _talk(
    document: FilterDocument, blocks: list[Block], models: Models, chats: bool, started: list[DocumentChat]
) -> list[Block]:
    project = document.project_for(blocks)
    if project is None:
        return blocks
    # an edit adds text, which only a source text can take up
    edits = document.source is not None
    chat = DocumentChat(models, project, document.logger, chats, edits)
    if not chat.start(blocks):
        return blocks
    started.append(chat)
    from lmm_core.models.chat import run

    run(_ask(chat, models))
    if models.usage.requests or models.usage.cached:
        document.logger.info(str(models.usage))
    return chat.apply(blocks)


async def _ask(chat: DocumentChat, models: Models) -> None:
    try:
        await chat.ask()
    finally:
        await models.close()
