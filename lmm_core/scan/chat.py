"""The chat pass: `?` starts a chat in a block, `+` continues it, `~chat` records both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import MarkdownError, ModelError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, MetadataBlock, blank
from ..markdown.edits import restore_originals
from ..markdown.spelling import edit_block, settle_safely
from ..markdown.tree import Node, blocks_to_tree, traverse
from ..models.chat import Asker, ChatMessage, Request
from .record import CHAT_KEY, QUESTION, Entry, pending_messages
from .requests import (
    BlockQuestion,
    ModelRun,
    PromptText,
    Talk,
    ask_model,
    can_take,
    find_blocks,
)


@dataclass
class Chat(BlockQuestion):
    """A chat in a block; the first `by_hand` pending texts are in `~chat`."""

    recorded: list[Entry]
    pending: list[str]
    by_hand: int = 0
    answered: bool = False

    @property
    def value(self) -> list[dict[str, str]]:
        waiting = [{"user": text} for text in self.pending[: self.by_hand]]
        return [{str(speaker): text} for speaker, text in self.recorded] + waiting

    def hear(self, answer: str, notes: Sequence[Entry]) -> None:
        """Record the answer to the first pending text."""
        self.recorded += [("user", self.pending.pop(0)), ("model", answer), *notes]
        self.by_hand = max(0, self.by_hand - 1)
        self.answered = True

    @property
    def markdown(self) -> str:
        return "\n\n".join(f"**{speaker}:** {text}" for speaker, text in self.recorded)


def scan_messages(
    blocks: Sequence[Block], asker: Asker, system: str = "", tokens: int = 100_000, logger: LoggerBase | None = None
) -> list[Block]:
    """Return the document with its questions and messages answered.

    asker: see `chat_model_from_config`; system: message for the model; tokens: maximum per request. Failures are
    reported and retried in the next run.
    """
    return ChatRun(Talk(asker, system, tokens), logger or ConsoleLogger()).carry_out(blocks)


@dataclass
class ChatRun(ModelRun[Chat]):
    """A run over a document."""

    noun = "question"
    participle = "answered"

    def start(self, blocks: Sequence[Block]) -> None:
        """Find the chats with pending messages."""
        originals = restore_originals(blocks)
        for node in traverse(blocks_to_tree(originals.blocks)):
            for block in node.metadata:
                if id(block) not in originals.regions:
                    self._add(block, node)

    def _add(self, block: MetadataBlock, node: Node) -> None:
        recorded, by_hand, new = pending_messages(block)
        if not (by_hand or new) or not can_take(block, CHAT_KEY, "not asked", self.logger):
            return
        questions = sum(message.key in QUESTION for message in block.messages)
        if questions > 1:
            self.logger.info(f"{questions} questions in one block: the last one counts", block.line)
        self.open.append(Chat(block, node, recorded, by_hand + new, len(by_hand)))

    async def _ask(self, chat: Chat) -> None:
        while chat.pending:
            texts = [text for _, text in chat.recorded] + chat.pending[:1]
            excerpt = self.talk.excerpt(chat.node, texts)
            request = self._request(chat, excerpt)
            try:
                if excerpt.left_out and blank(excerpt.text):
                    raise ModelError("no part of the text fits into what the model can take (context_tokens)")
                answer = await ask_model(self.talk.asker, request, chat.pending[0], self.screen)
            except ModelError as error:
                self.failed.append((chat.block.line, error))
                return
            chat.hear(answer, _note(excerpt))
            self.answered.append(request)

    def _request(self, chat: Chat, excerpt: PromptText) -> Request:
        entries: list[Entry] = [entry for entry in chat.recorded if entry[0] != "note"] + [("user", chat.pending[0])]
        messages = [ChatMessage("user" if speaker == "user" else "assistant", text) for speaker, text in entries]
        first = messages.pop(0).content if messages[0].role == "user" else "(the chat goes on)"
        return self.talk.request(self.talk.chat, chat.node, excerpt, first, messages)

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document with the answers. Raise MarkdownError if they do not fit in."""
        block_of = find_blocks(blocks, self.open, CHAT_KEY)
        chats = {id(block_of[id(chat)]): chat for chat in self.open if chat.answered and id(chat) in block_of}
        self.unmerged = [chat for chat in self.open if chat.answered and id(chat) not in block_of]
        answered = [self._write_answer(block, chats[id(block)]) if id(block) in chats else block for block in blocks]
        return settle_safely(blocks, answered)

    def _write_answer(self, block: Block, chat: Chat) -> Block:
        assert isinstance(block, MetadataBlock)
        try:
            return edit_block(block, {CHAT_KEY: chat.value}) or block
        except MarkdownError as error:
            self.logger.error(f"the answer cannot be written: {error}", block.line)
            self.unmerged.append(chat)
            return block


def _note(excerpt: PromptText) -> list[Entry]:
    if not excerpt.left_out:
        return []
    names = ", ".join(excerpt.left_out[:5]) + (", …" if len(excerpt.left_out) > 5 else "")
    return [("note", f"the text was too long for the model, which has seen it without (parts of): {names}")]
