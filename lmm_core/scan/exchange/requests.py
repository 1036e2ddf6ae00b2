"""Requests to the model about parts of a document, and what the runs that make them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...errors import ModelError
from ...logging import LoggerBase
from ...markdown.tree import Node, titles_path
from ...models.chat import Asker, ChatMessage, Request, Show
from ...models.prompts import CHAT, SYSTEM, Prompt, language_of
from .context import PromptText, fit_text

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
    """The way in which the model is asked.

    `system` is the writer's system message, "" for the default one. `tokens` is the most that a
    request may have.
    """

    asker: Asker
    system: str = ""
    tokens: int = 100_000

    def request(
        self, prompt: Prompt, node: Node, excerpt: PromptText, question: str, chat: Sequence[ChatMessage] = ()
    ) -> Request:  # fmt: skip
        """Return the request about a part of the document."""
        values = {
            "system": self.system or SYSTEM,
            "language": language_of(str(node.fetch("lang", ""))),
            "titles": " > ".join(titles_path(node)) or "(no title)",
            "text": excerpt.text,
            "question": question,
        }
        return prompt.request(values, chat=chat)

    def excerpt(self, node: Node, spoken: Sequence[str]) -> PromptText:
        """Return as much of a part's text as fits beside the spoken texts."""
        from ...models.tokens import count_tokens

        spent = REPLY_TOKENS + count_tokens(CHAT.system + self.system + "\n".join([*titles_path(node), *spoken]))
        return fit_text(node, max(self.tokens - spent, self.tokens // 4), count_tokens)


@dataclass
class ModelRun:
    """The common part of the runs that ask a model.

    `screen` shows the answers, `failed` holds failures with their lines, `answered` the requests
    that were answered.
    """

    talk: Talk
    logger: LoggerBase
    screen: Screen | None = None
    failed: list[tuple[int, ModelError]] = field(default_factory=list, init=False)
    answered: list[Request] = field(default_factory=list, init=False)

    async def ask(self) -> None:
        """Ask for everything that is open."""
        raise NotImplementedError

    async def ask_and_close(self) -> None:
        """Do the same in a run that has the model for itself."""
        try:
            await self.ask()
        finally:
            await self.talk.asker.close()


async def say(asker: Asker, request: Request, question: str, screen: Screen | None) -> str:
    """Return the model's answer unchanged. Raise ModelError.

    It is shown as it comes, under the question, if the screen is free.
    """
    show = screen.begin(question) if screen else None
    try:
        return await asker.ask(request, str, show)
    finally:
        if screen and show:
            screen.end()


def report_failures(failed: list[tuple[int, ModelError]], what: str, done: str, logger: LoggerBase) -> None:
    """Report what the model could not do; an error that stops everything is reported once."""
    for line, error in sorted(failed, key=lambda failure: failure[0]):
        if not error.stop:
            logger.error(f"{what} not {done}: {error}", line)
    if stopped := [error for _, error in failed if error.stop]:
        count = len(stopped)
        logger.error(f"{count} {what}{'' if count == 1 else 's'} not {done}: {stopped[0]}")
