"""The record of a chat in its block, and pending messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MetadataBlock
from ..markdown.edits import ASKED_KEY, EDIT_KEY, open_edit
from ..markdown.metadata.body import DELETED
from ..markdown.spelling import edit_block, settle_safely

QUESTION = frozenset({"?", "query"})
MESSAGE = frozenset({"+", "message"})
EDIT = frozenset({"=", "edit"})
CHAT_KEY = "~chat"

Speaker = Literal["user", "model", "note"]
Entry = tuple[Speaker, str]


def pending_messages(block: MetadataBlock) -> tuple[list[Entry], list[str]]:
    """Return a block's recorded entries, and its messages without an answer.

    Another question starts a new chat; the last of several counts.
    """
    typed = [(m.key in QUESTION, m.text) for m in block.messages if m.key in QUESTION | MESSAGE and m.text.strip()]
    recorded = read_chat(block.content.get(CHAT_KEY))
    starts = [at for at, (starts, _) in enumerate(typed) if starts]
    texts = [text for _, text in typed[starts[-1] if starts else 0 :]]
    user_texts = [text for speaker, text in recorded if speaker == "user"]
    if starts and (not user_texts or _one_line(user_texts[0]) != _one_line(texts[0])):
        return [], texts
    return recorded, _unrecorded(texts, user_texts)


def _unrecorded(texts: list[str], recorded: list[str]) -> list[str]:
    rest = [_one_line(text) for text in recorded]
    new = []
    for text in texts:
        if _one_line(text) in rest:
            rest = rest[rest.index(_one_line(text)) + 1 :]
        else:
            new.append(text)
    return new


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_chat(value: Any) -> list[Entry]:
    """Return the entries of a chat: `- user: …`, `- model: …`."""
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    pairs = (pair for item in items for pair in item.items())
    return [(name if name in ("user", "note") else "model", "" if text is None else str(text)) for name, text in pairs]


def clear_messages(blocks: Sequence[Block], edits: bool = False, logger: LoggerBase | None = None) -> list[Block]:
    """Return the document without chats, and with `edits` without requests, unless pending."""
    logger = logger or ConsoleLogger()
    remaining = [cleared for block in blocks if (cleared := _cleared(block, edits, logger)) is not None]
    return settle_safely(blocks, remaining)


def _cleared(block: Block, edits: bool, logger: LoggerBase) -> Block | None:
    if not isinstance(block, MetadataBlock):
        return block
    keys = {message.key for message in block.messages if message.key not in EDIT} | {CHAT_KEY}
    if edits and open_edit(block):
        logger.warning("an edit waits here; run `lmm accept` or `lmm reject` first", block.line)
    elif edits:
        keys |= {message.key for message in block.messages} | {EDIT_KEY, ASKED_KEY}
    keys = {key for key in keys if key in block.content or any(message.key == key for message in block.messages)}
    return edit_block(block, dict.fromkeys(keys, DELETED)) if keys else block
