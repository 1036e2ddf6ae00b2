"""Ask a model about parts of a document, and find where the answers belong."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from ..errors import MarkdownError, ModelError
from ..logging import LoggerBase, counted
from ..markdown.blocks import BOM, Block, MetadataBlock, trim_blank_lines
from ..markdown.edits import restore_originals
from ..markdown.spelling import edit_block
from ..markdown.tree import HeadingNode, Node, TextNode, blocks_to_tree, node_block, titles_path, traverse
from ..models.chat import Asker, ChatMessage, Request, Show, run, then_close
from ..models.prompts import CHAT, EDIT, SYSTEM, Prompt, enclose, language_of
from ..models.validation import AnswerWatch
from .annotations.sections import nearest_summary
from .header import report_broken_edits
from .knit import strip_metadata

REPLY_TOKENS = 4_000  # of a request's tokens, reserved for the answer


@dataclass
class BlockQuestion:
    """A question, or a request for an edit, in a part's block."""

    block: MetadataBlock
    node: Node


Asked = TypeVar("Asked", bound=BlockQuestion)


class Screen(Protocol):
    """Shows answers as they arrive, one at a time."""

    def begin(self, question: str) -> Show | None:
        """Return a function that shows a part of the answer, or None if the display is in use."""

    def end(self) -> None:
        """Release the display."""


@dataclass(frozen=True)
class Talk:
    """A model and the prompts for talking with it.

    system: "" for the built-in prompt
    tokens: maximum of a request"""

    asker: Asker
    system: str = ""
    tokens: int = 100_000
    chat: Prompt = CHAT
    edit: Prompt = EDIT

    def request(
        self, prompt: Prompt, node: Node, excerpt: PromptText, question: str, chat: Sequence[ChatMessage] = ()
    ) -> Request:  # fmt: skip
        """Return a request about a part of the document, after the earlier messages `chat`."""
        values = {
            "system": self.system or SYSTEM,
            "language": language_of(str(node.fetch("lang", ""))),
            "titles": " > ".join(titles_path(node)) or "(no title)",
            "around": _section_summary(node),
            "text": excerpt.text,
            "question": question,
        }
        return prompt.request(values, chat=chat)

    def excerpt(self, node: Node, texts: Sequence[str]) -> PromptText:
        """Return as much of a part's text as fits into a request beside other texts."""
        from ..models.tokens import count_tokens

        beside = [*titles_path(node), _section_summary(node), *texts]
        spent = REPLY_TOKENS + count_tokens(self.chat.system + self.system + "\n".join(beside))
        return fit_text(node, max(self.tokens - spent, self.tokens // 4), count_tokens)


def _section_summary(node: Node) -> str:
    summary = "" if isinstance(node, HeadingNode) else nearest_summary(reversed(node.ancestors))
    return f"\n\nThe section around it, in short:\n\n{enclose('around', summary)}" if summary else ""


@dataclass
class ModelRun(ABC, Generic[Asked]):
    """A run that asks a model about a document.

    noun, participle: for messages, as in "question not answered"
    failed: lines and errors of unanswered questions
    unmerged: questions whose answers found no place in the current document
    """

    noun: ClassVar[str]
    participle: ClassVar[str]
    talk: Talk
    logger: LoggerBase
    screen: Screen | None = None
    failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    answered: list[Request] = field(default_factory=list, init=False)
    open: list[Asked] = field(default_factory=list, init=False)
    unmerged: list[Asked] = field(default_factory=list, init=False)

    @abstractmethod
    def start(self, blocks: Sequence[Block]) -> None:
        """Find the open questions."""

    async def ask(self) -> None:
        """Ask all open questions at the same time. Answers before an interruption are kept."""
        await asyncio.gather(*map(self._ask, self.open))
        for line, error in sorted(self.failed, key=lambda failure: failure[0]):
            if not error.stop:
                self.logger.error(f"{self.noun} not {self.participle}: {error}", line)
        if stopped := [error for _, error in self.failed if error.stop]:  # reported once
            self.logger.error(f"{counted(len(stopped), self.noun)} not {self.participle}: {stopped[0]}")

    @abstractmethod
    async def _ask(self, asked: Asked) -> None:
        """Ask a question."""

    @abstractmethod
    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the current document with the answers. Raise MarkdownError if it cannot take them."""

    def carry_out(self, blocks: Sequence[Block]) -> list[Block]:
        """Run all steps, close the model, and return the document."""
        if report_broken_edits(blocks, self.logger):
            return list(blocks)
        self.start(blocks)
        if self.open:
            run(then_close(self.ask(), self.talk.asker))
        return self.apply(blocks)


async def ask_model(
    asker: Asker, request: Request, question: str, screen: Screen | None, tags: bool = True
) -> str:  # fmt: skip
    """Return the model's answer, shown while it arrives if the screen is free. Raise ModelError.

    tags: False for a new version of a text, which may be empty or contain tags
    """
    show = screen.begin(question) if screen else None
    watch = AnswerWatch(request, tags)

    def check_reply(text: str) -> str:
        if tags and not text.strip():
            raise ModelError("the model's reply was empty")
        return watch.check(text)

    try:
        return await asker.ask(request, check_reply, watch.around(show))
    finally:
        if screen and show:
            screen.end()


Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text for a prompt, and the titles of shortened or omitted sections."""

    text: str
    left_out: tuple[str, ...] = ()


def fit_text(node: Node, budget: int, count: Count) -> PromptText:
    """Return a node's text without metadata, and without text blocks beyond `budget` tokens."""
    pieces: list[str] = []
    left_out: list[str] = []
    size, title = 0, ""
    for part in traverse(node):
        if isinstance(part, HeadingNode):
            title = part.written_title
            text = trim_blank_lines(part.heading.source.lstrip(BOM)) if part.heading else ""
        else:
            text = strip_metadata(part.content).strip("\n")
        size += count(text) if text else 0
        if text and size > budget and isinstance(part, TextNode):
            left_out.append(title or "(the beginning)")
        elif text:
            pieces.append(text)
    return PromptText("\n\n".join(pieces), tuple(dict.fromkeys(left_out)))


# Questions in a document that has changed meanwhile


def can_take(block: MetadataBlock, key: str, failure: str, logger: LoggerBase) -> bool:
    """Return True if a key can be written into a block. Otherwise report it, beginning with `failure`."""
    try:
        edit_block(block, {key: []})
    except MarkdownError as error:
        logger.error(f"{failure}: {error}", block.line)
        return False
    return True


def find_blocks(blocks: Sequence[Block], questions: Sequence[BlockQuestion], key: str) -> dict[int, MetadataBlock]:
    """Return the block that each question is in now, by the question's `id`.

    A block must begin with the question's messages and have the same value of `key`. Of several, the one before the
    same text is preferred.
    """
    free = _annotating(blocks)
    matches: dict[int, MetadataBlock] = {}
    for is_text_same in (True, False):
        for question in (question for question in questions if id(question) not in matches):
            text = _text_at(question.node)
            places = [at for at, (block, _) in enumerate(free) if _continues(block, question.block, key)]
            at = next((at for at in places if free[at][1] == text or not is_text_same), None)
            if at is not None:
                matches[id(question)] = free.pop(at)[0]
    return matches


def _annotating(blocks: Sequence[Block]) -> list[tuple[MetadataBlock, str]]:
    originals = restore_originals(blocks)
    return [
        (block, _text_at(node))
        for node in traverse(blocks_to_tree(originals.blocks))
        for block in node.metadata
        if id(block) not in originals.regions
    ]


def _text_at(node: Node) -> str:
    block = node_block(node)
    return trim_blank_lines(block.source) if block is not None else ""


def _continues(block: MetadataBlock, question_block: MetadataBlock, key: str) -> bool:
    texts = [message.text for message in question_block.messages]
    first_texts = [message.text for message in block.messages[: len(texts)]]
    return first_texts == texts and block.content.get(key) == question_block.content.get(key)
