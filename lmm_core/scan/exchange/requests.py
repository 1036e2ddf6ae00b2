"""Requests to the model about parts of a document, and what the runs that make them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ...errors import ModelError
from ...logging import LoggerBase, counted
from ...markdown.blocks import BOM, Block, trim_blank_lines
from ...markdown.tree import HeadingNode, Node, TextNode, titles_path, traverse
from ...models.chat import Asker, ChatMessage, Request, Show, run
from ...models.prompts import CHAT, EDIT, SYSTEM, Prompt, enclose, language_of
from ...models.validation.answers import AnswerWatch
from ..annotations.sections import nearest_summary
from ..knit import strip_metadata

Asked = TypeVar("Asked")  # what a run asks about: a chat, or a request for an edit
REPLY_TOKENS = 4_000  # of the tokens of a request, those kept free for the answer


class Screen(Protocol):
    """A place where answers are shown as they come, one at a time."""

    def begin(self, question: str) -> Show | None:
        """Take the place for an answer; None if another answer has it."""
        ...

    def end(self) -> None:
        """Leave the place to another answer."""
        ...


@dataclass(frozen=True)
class Talk:
    """How the model is asked: the writer's system message ("" for ours), the most tokens of a request, and the prompts
    for questions and new versions."""

    asker: Asker
    system: str = ""
    tokens: int = 100_000
    chat: Prompt = CHAT
    edit: Prompt = EDIT

    def request(
        self, prompt: Prompt, node: Node, excerpt: PromptText, question: str, chat: Sequence[ChatMessage] = ()
    ) -> Request:  # fmt: skip
        """Return the request about a part of the document."""
        values = {
            "system": self.system or SYSTEM,
            "language": language_of(str(node.fetch("lang", ""))),
            "titles": " > ".join(titles_path(node)) or "(no title)",
            "around": _around(node),
            "text": excerpt.text,
            "question": question,
        }
        return prompt.request(values, chat=chat)

    def excerpt(self, node: Node, spoken: Sequence[str]) -> PromptText:
        """Return as much of a part's text as fits beside the spoken texts."""
        from ...models.tokens import count_tokens

        beside = [*titles_path(node), _around(node), *spoken]
        spent = REPLY_TOKENS + count_tokens(self.chat.system + self.system + "\n".join(beside))
        return fit_text(node, max(self.tokens - spent, self.tokens // 4), count_tokens)


def _around(node: Node) -> str:
    """Return the nearest summary around a paragraph, for a request, or ""."""
    summary = "" if isinstance(node, HeadingNode) else nearest_summary(reversed(node.ancestors))
    return f"\n\nThe section around it, in short:\n\n{enclose('around', summary)}" if summary else ""


@dataclass
class ModelRun(ABC, Generic[Asked]):
    """The common part of the runs that ask a model about a document.

    `start` fills `open`, `ask` asks, `apply` writes the answers into the document as it is by then; those whose place
    is gone are `unmerged`. failed: errors by line; answered: requests with an answer."""

    talk: Talk
    logger: LoggerBase
    screen: Screen | None = None
    failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    answered: list[Request] = field(default_factory=list, init=False)
    open: list[Asked] = field(default_factory=list, init=False)
    unmerged: list[Asked] = field(default_factory=list, init=False)

    @abstractmethod
    def start(self, blocks: Sequence[Block]) -> None:
        """Find what has to be asked."""

    @abstractmethod
    async def ask(self) -> None:
        """Ask for everything that is open."""

    @abstractmethod
    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document with the answers. Raise MarkdownError if they do not fit into it."""

    def carry_out(self, blocks: Sequence[Block]) -> list[Block]:
        """Do all steps, in a run that has the model for itself. Return the document with the answers."""
        self.start(blocks)
        if self.open:
            run(self.ask_and_close())
        return self.apply(blocks)

    async def ask_and_close(self) -> None:
        """Do the same in a run that has the model for itself."""
        try:
            await self.ask()
        finally:
            await self.talk.asker.close()


async def ask_model(
    asker: Asker, request: Request, question: str, screen: Screen | None, tags: bool = True
) -> str:  # fmt: skip
    """Return the model's answer, showing it meanwhile if the screen is free. Raise ModelError.

    tags: False for a new version of a text, which may be empty or enclosed in the prompt's tags."""
    show = screen.begin(question) if screen else None
    watch = AnswerWatch(request, tags)

    def read(text: str) -> str:
        if tags and not text.strip():
            raise ModelError("the model said nothing")
        return watch.check(text)

    try:
        return await asker.ask(request, read, watch.around(show))
    finally:
        if screen and show:
            screen.end()


def report_failures(failed: list[tuple[int, ModelError]], what: str, done: str, logger: LoggerBase) -> None:
    """Report what the model could not do; an error that stops everything is reported once."""
    for line, error in sorted(failed, key=lambda failure: failure[0]):
        if not error.stop:
            logger.error(f"{what} not {done}: {error}", line)
    if stopped := [error for _, error in failed if error.stop]:
        logger.error(f"{counted(len(stopped), what)} not {done}: {stopped[0]}")


# The text that a block annotates, within a budget of tokens

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A text for a prompt, and the titles of the sections that it leaves out or cuts short."""

    text: str
    left_out: tuple[str, ...] = ()


def fit_text(node: Node, budget: int, count: Count) -> PromptText:
    """Return the text of a node without metadata, with subsections, in at most `budget` tokens by `count`.

    A text that is too long loses its last blocks; headings stay, and no block is cut."""
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
