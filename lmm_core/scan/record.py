"""Read the record of a chat in its block, find messages without an answer, and clear both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..errors import MarkdownError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MetadataBlock
from ..markdown.edits import ASKED_KEY, EDIT_KEY, open_edit
from ..markdown.metadata.body import DELETED
from ..markdown.spelling import edit_block, settle_safely
from .header import report_broken_edits

QUESTION = frozenset({"?", "query"})
MESSAGE = frozenset({"+", "message"})
EDIT = frozenset({"=", "edit"})
CHAT_KEY = "~chat"

Speaker = Literal["user", "model", "note"]
Entry = tuple[Speaker, str]


def pending_messages(block: MetadataBlock) -> tuple[list[Entry], list[str], list[str]]:
    """Return the entries of a block's chat, the texts at its end without an answer, and messages not yet in it.

    A new question starts a new chat; of several questions, the last one counts.
    """
    typed = [(m.key in QUESTION, m.text) for m in block.messages if m.key in QUESTION | MESSAGE and m.text.strip()]
    recorded = read_chat(block.content.get(CHAT_KEY))
    starts = [at for at, (starts, _) in enumerate(typed) if starts]
    texts = [text for _, text in typed[starts[-1] if starts else 0 :]]
    user_texts = [text for speaker, text in recorded if speaker == "user"]
    if starts and (not user_texts or _one_line(user_texts[0]) != _one_line(texts[0])):
        return [], [], texts
    return recorded, _take_unanswered(recorded), _unrecorded(texts, user_texts)


def _take_unanswered(recorded: list[Entry]) -> list[str]:
    texts: list[str] = []
    while recorded and recorded[-1][0] == "user":
        texts.insert(0, recorded.pop()[1])
    return [text for text in texts if text.strip()]


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
    """Return the entries of `~chat`: `user: …` and `model: …` or, from an earlier version, texts that alternate."""
    entries: list[Entry] = []
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(item, dict):
            entries += [_entry(str(key), text) for key, text in item.items()]
        else:
            turn: Speaker = "model" if entries and entries[-1][0] == "user" else "user"
            entries.append((turn, str(item)))
    return entries


def _entry(speaker: str, text: Any) -> Entry:
    words = "" if text is None else str(text)
    if speaker in ("user", "query", "message"):
        return "user", words
    return ("note", words) if speaker == "note" else ("model", words)


def clear_messages(blocks: Sequence[Block], edits: bool = False, logger: LoggerBase | None = None) -> list[Block]:
    """Return the document without chats.

    edits: also remove requests for edits, except those with an edit that is not yet accepted or rejected"""
    logger = logger or ConsoleLogger()
    if report_broken_edits(blocks, logger):
        return list(blocks)
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
    if not keys:
        return block
    try:
        return edit_block(block, dict.fromkeys(keys, DELETED))
    except MarkdownError as error:
        logger.error(f"not cleared: {error}", block.line)
        return block
