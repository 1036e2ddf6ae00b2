"""The chat pass: questions in metadata blocks, answered in the block.

`?` starts a chat, `+` continues it; `~chat` records both sides. What is recorded is
not asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..errors import MarkdownError, ModelError
from ..logging import ConsoleLogger, LoggerBase
from ..markdown.blocks import Block, HeaderBlock, MetadataBlock, blank, trim_blank_lines
from ..markdown.edits import EDIT_KEY, open_edit
from ..markdown.metadata.body import DELETED
from ..markdown.originals import unfold_edits
from ..markdown.rag_only import node_block
from ..markdown.spelling import edit_block, settle_safely
from ..markdown.tree import Node, blocks_to_tree, titles_path, traverse
from ..models.chat import Asker, ChatMessage, Request, Show, run
from ..models.prompts import CHAT, SYSTEM, Prompt, language_of
from .context import PromptText, show_text
from .header import report_broken

QUESTION = frozenset({"?", "query"})
MESSAGE = frozenset({"+", "message"})
EDIT = frozenset({"=", "edit"})
CHAT_KEY = "~chat"
REPLY_TOKENS = 4_000  # left for the answer, of what a request may have


class Screen(Protocol):
    """Where answers are shown as they come, one at a time."""

    def begin(self, question: str) -> Show | None:
        """Take it for an answer; None where it is taken already."""
        ...

    def end(self) -> None:
        """Leave it to another answer."""
        ...


Speaker = Literal["user", "model", "note"]
Entry = tuple[Speaker, str]


@dataclass(frozen=True)
class Talk:
    """How the model is talked to. asker: the model; system: the writer's system message,
    "" for ours; tokens: that a request may have."""

    asker: Asker
    system: str = ""
    tokens: int = 100_000

    def request(
        self, prompt: Prompt, node: Node, shown: PromptText, question: str, chat: Sequence[ChatMessage] = ()
    ) -> Request:  # fmt: skip
        """The request about a part of the document."""
        values = {
            "system": self.system or SYSTEM,
            "language": language_of(str(node.fetch("lang", ""))),
            "titles": " > ".join(titles_path(node)) or "(no title)",
            "text": shown.text,
            "question": question,
        }
        return prompt.request(values, chat=chat)

    def show(self, node: Node, spoken: Sequence[str]) -> PromptText:
        """The text of a part, as much as fits beside what is spoken."""
        from ..models.tokens import count_tokens

        spent = REPLY_TOKENS + count_tokens(CHAT.system + self.system + "\n".join([*titles_path(node), *spoken]))
        return show_text(node, max(self.tokens - spent, self.tokens // 4), count_tokens)


@dataclass
class Chat:
    """A chat in a block: what is recorded and what is still to be said. The first
    `by_hand` of the `pending` were typed into `~chat` itself, and belong there."""

    block: MetadataBlock
    node: Node
    recorded: list[Entry]
    pending: list[str]
    by_hand: int = 0
    answered: bool = False

    @property
    def value(self) -> list[dict[str, str]]:
        """What `~chat` has to hold."""
        waiting = [{"user": text} for text in self.pending[: self.by_hand]]
        return [{str(speaker): text} for speaker, text in self.recorded] + waiting

    def hear(self, answer: str, notes: Sequence[Entry]) -> None:
        """Record what the model said to the first of what was to be said."""
        self.recorded += [("user", self.pending.pop(0)), ("model", answer), *notes]
        self.by_hand = max(0, self.by_hand - 1)
        self.answered = True

    @property
    def markdown(self) -> str:
        """The chat as a text to read."""
        return "\n\n".join(f"**{speaker}:** {text}" for speaker, text in self.recorded)


def scan_messages(
    blocks: Sequence[Block], asker: Asker, system: str = "", tokens: int = 100_000, logger: LoggerBase | None = None
) -> list[Block]:
    """The document with its questions and messages answered. What the model cannot
    answer is reported, and is asked again in the next run."""
    chats = ChatRun(Talk(asker, system, tokens), logger or ConsoleLogger())
    chats.start(blocks)
    if chats.open:
        run(chats.ask_and_close())
    return chats.apply(blocks)


@dataclass
class Asking:
    """What the runs that talk to a model have in common: how it is talked to, where answers
    are shown, what failed (with its line), and the requests that were answered."""

    talk: Talk
    logger: LoggerBase
    screen: Screen | None = None
    failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    answered: list[Request] = field(default_factory=list, init=False)

    async def ask(self) -> None:
        """Ask for everything that is open."""
        raise NotImplementedError

    async def ask_and_close(self) -> None:
        """`ask`, for a run that has the model for itself."""
        try:
            await self.ask()
        finally:
            await self.talk.asker.close()


@dataclass
class ChatRun(Asking):
    """One run over a document: `start` finds the chats that are `open`, `ask` holds
    them, `apply` writes what was said into the document (or into what an editor has
    made of it meanwhile). What then finds no block is `unmerged`."""

    open: list[Chat] = field(default_factory=list, init=False)
    unmerged: list[Chat] = field(default_factory=list, init=False)

    def start(self, blocks: Sequence[Block]) -> None:
        """Find what has to be asked."""
        if report_broken(blocks, self.logger):
            return
        unfolded = unfold_edits(blocks)
        for node in traverse(blocks_to_tree(unfolded.blocks)):
            for block in node.metadata:
                if id(block) not in unfolded.regions:
                    self._add(block, node)

    def _add(self, block: MetadataBlock, node: Node) -> None:
        recorded, by_hand, new = pending_messages(block)
        if not (by_hand or new) or not can_take(block, CHAT_KEY, "not asked", self.logger):
            return
        questions = sum(message.key in QUESTION for message in block.messages)
        if questions > 1:
            self.logger.info(f"{questions} questions in one block: the last one counts", block.line)
        self.open.append(Chat(block, node, recorded, by_hand + new, len(by_hand)))

    async def ask(self) -> None:
        """Hold all chats, at the same time. What has been answered stays where the run
        is stopped."""
        await asyncio.gather(*(self._hold(chat) for chat in self.open))
        report_failures(self.failed, "question", "answered", self.logger)

    async def _hold(self, chat: Chat) -> None:
        while chat.pending:
            spoken = [text for _, text in chat.recorded] + chat.pending[:1]
            shown = self.talk.show(chat.node, spoken)
            request = self._request(chat, shown)
            try:
                if shown.left_out and blank(shown.text):
                    raise ModelError("nothing of the text fits into what the model can take (context_tokens)")
                answer = await say(self.talk.asker, request, chat.pending[0], self.screen)
            except ModelError as error:
                self.failed.append((chat.block.line, error))
                return
            chat.hear(answer, _note(shown))
            self.answered.append(request)

    def _request(self, chat: Chat, shown: PromptText) -> Request:
        """The whole chat so far: the first question beside the text, the rest after it."""
        spoken: list[Entry] = [entry for entry in chat.recorded if entry[0] != "note"] + [("user", chat.pending[0])]
        messages = [ChatMessage("user" if speaker == "user" else "assistant", text) for speaker, text in spoken]
        first = messages.pop(0).content if messages[0].role == "user" else "(the chat goes on)"
        return self.talk.request(CHAT, chat.node, shown, first, messages)

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """The document with the answers in its blocks. Raises MarkdownError where the
        new blocks cannot be put into it."""
        found = find_blocks(blocks, self.open, CHAT_KEY)
        chats = {id(found[id(chat)]): chat for chat in self.open if chat.answered and id(chat) in found}
        self.unmerged = [chat for chat in self.open if chat.answered and id(chat) not in found]
        made = [self._written(block, chats[id(block)]) if id(block) in chats else block for block in blocks]
        return settle_safely(blocks, made)

    def _written(self, block: Block, chat: Chat) -> Block:
        assert isinstance(block, MetadataBlock)
        try:
            return edit_block(block, {CHAT_KEY: chat.value}) or block
        except MarkdownError as error:
            self.logger.error(f"the answer cannot be written: {error}", block.line)
            self.unmerged.append(chat)
            return block


async def say(asker: Asker, request: Request, question: str, screen: Screen | None) -> str:
    """What the model answers, as it is; shown on the way, under the question, where the
    screen is free. Raises ModelError."""
    show = screen.begin(question) if screen else None
    try:
        return await asker.ask(request, str, show)
    finally:
        if screen and show:
            screen.end()


def report_failures(failed: list[tuple[int, ModelError]], what: str, done: str, logger: LoggerBase) -> None:
    """Report what the model could not do; what stops it is told once."""
    for line, error in sorted(failed, key=lambda failure: failure[0]):
        if not error.stop:
            logger.error(f"{what} not {done}: {error}", line)
    if stopped := [error for _, error in failed if error.stop]:
        count = len(stopped)
        logger.error(f"{count} {what}{'' if count == 1 else 's'} not {done}: {stopped[0]}")


def _note(shown: PromptText) -> list[Entry]:
    """Says that the model has not seen all."""
    if not shown.left_out:
        return []
    names = ", ".join(shown.left_out[:5]) + (", …" if len(shown.left_out) > 5 else "")
    return [("note", f"the text was too long for the model, which has seen it without (parts of): {names}")]


def can_take(block: MetadataBlock, key: str, what: str, logger: LoggerBase) -> bool:
    """Whether a key can be written into a block; where it cannot, asking would be in vain,
    and that is reported."""
    try:
        edit_block(block, {key: []})
    except MarkdownError as error:
        logger.error(f"{what}: {error}", block.line)
        return False
    return True


class ChatQuestion(Protocol):
    """What is asked in a block, about a part of the document."""

    @property
    def block(self) -> MetadataBlock: ...

    @property
    def node(self) -> Node: ...


def find_blocks(blocks: Sequence[Block], asked: Sequence[ChatQuestion], key: str) -> dict[int, MetadataBlock]:
    """The blocks of all that is `asked` (by its `id`) in a document that may have changed.
    A block has the same source, or the same messages (and perhaps more after them) and
    the same value under `key`; one before the same text is better than another, and
    none is that of two."""
    free = _annotating(blocks)
    texts = {id(one): _text_at(one.node) for one in asked}
    found: dict[int, MetadataBlock] = {}
    for alike, same_text in ((_same_source, True), (_goes_on, True), (_same_source, False), (_goes_on, False)):
        for one in asked:
            hits = (at for at, (block, text) in enumerate(free)
                    if (not same_text or text == texts[id(one)]) and alike(block, one.block, key))  # fmt: skip
            at = None if id(one) in found else next(hits, None)
            if at is not None:
                found[id(one)] = free.pop(at)[0]
    return found


def _annotating(blocks: Sequence[Block]) -> list[tuple[MetadataBlock, str]]:
    """All metadata blocks but those inside edits, each with the text that it stands before."""
    unfolded = unfold_edits(blocks)
    return [
        (block, _text_at(node))
        for node in traverse(blocks_to_tree(unfolded.blocks))
        for block in node.metadata
        if id(block) not in unfolded.regions
    ]


def _text_at(node: Node) -> str:
    """The heading or text of a node; "" for the document and for nothing."""
    block = node_block(node)
    return trim_blank_lines(block.source) if block is not None else ""


def _same_source(block: MetadataBlock, asked: MetadataBlock, _key: str) -> bool:
    same_kind = isinstance(block, HeaderBlock) == isinstance(asked, HeaderBlock)
    return same_kind and trim_blank_lines(block.source) == trim_blank_lines(asked.source)


def _goes_on(block: MetadataBlock, asked: MetadataBlock, key: str) -> bool:
    texts = [message.text for message in asked.messages]
    found = [message.text for message in block.messages[: len(texts)]]
    value = asked.content.get(key)
    return bool(texts or value) and found == texts and block.content.get(key) == value


# What is recorded, and what is not


def pending_messages(block: MetadataBlock) -> tuple[list[Entry], list[str], list[str]]:
    """The chat that goes on in a block, and what has to be said in it: what was typed into
    `~chat` itself and has no answer, and what the messages say. A question that is not
    the recorded one starts anew; of several the last counts. Messages that are
    recorded, in their order, are not said again."""
    typed = [(m.key in QUESTION, m.text) for m in block.messages if m.key in QUESTION | MESSAGE and m.text.strip()]
    recorded = read_chat(block.content.get(CHAT_KEY))
    starts = [at for at, (starts, _) in enumerate(typed) if starts]
    texts = [text for _, text in typed[starts[-1] if starts else 0 :]]
    said = [text for speaker, text in recorded if speaker == "user"]
    if starts and (not said or _plain(said[0]) != _plain(texts[0])):
        return [], [], texts
    return recorded, _take_unanswered(recorded), _not_said(texts, said)


def _take_unanswered(recorded: list[Entry]) -> list[str]:
    """What the user said last, by hand, without an answer; it leaves the record."""
    texts: list[str] = []
    while recorded and recorded[-1][0] == "user":
        texts.insert(0, recorded.pop()[1])
    return [text for text in texts if text.strip()]


def _not_said(texts: list[str], said: list[str]) -> list[str]:
    rest = [_plain(text) for text in said]
    new = []
    for text in texts:
        if _plain(text) in rest:
            rest = rest[rest.index(_plain(text)) + 1 :]
        else:
            new.append(text)
    return new


def _plain(text: str) -> str:
    return " ".join(text.split())


def read_chat(value: Any) -> list[Entry]:
    """A recorded chat: `- user: …`, `- model: …`; in an older spelling, texts by turns,
    the user's first."""
    entries: list[Entry] = []
    for item in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(item, dict):
            entries += [_entry(str(key), text) for key, text in item.items()]
        else:
            turn: Speaker = "model" if entries and entries[-1][0] == "user" else "user"
            entries.append((turn, str(item)))
    return entries


def _entry(speaker: str, text: Any) -> Entry:
    said = "" if text is None else str(text)
    if speaker in ("user", "query", "message"):
        return "user", said
    return ("note", said) if speaker == "note" else ("model", said)


def clear_messages(blocks: Sequence[Block], edits: bool = False, logger: LoggerBase | None = None) -> list[Block]:
    """The document without chats: questions, messages and what was answered; with
    `edits`, also without requests for edits (but those that wait for a decision).
    Blocks in which nothing is left go."""
    logger = logger or ConsoleLogger()
    if report_broken(blocks, logger):
        return list(blocks)
    made = [cleared for block in blocks if (cleared := _cleared(block, edits, logger)) is not None]
    return settle_safely(blocks, made)


def _cleared(block: Block, edits: bool, logger: LoggerBase) -> Block | None:
    if not isinstance(block, MetadataBlock):
        return block
    keys = {message.key for message in block.messages if message.key not in EDIT} | {CHAT_KEY}
    if edits and open_edit(block):
        logger.warning("an edit waits here: lmm accept or lmm reject first", block.line)
    elif edits:
        keys |= {message.key for message in block.messages} | {EDIT_KEY}
    keys = {key for key in keys if key in block.content or any(message.key == key for message in block.messages)}
    if not keys:
        return block
    try:
        return edit_block(block, dict.fromkeys(keys, DELETED))
    except MarkdownError as error:
        logger.error(f"not cleared: {error}", block.line)
        return block
