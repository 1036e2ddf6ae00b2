"""Chats and edits in files, merged into the file's current version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ...arguments import validated
from ...errors import ChangedError, MarkdownError, ModelError
from ...files.walk import UNMERGED
from ...logging import ConsoleLogger, LoggerBase, in_file
from ...markdown.blocks import Block, MetadataBlock, Problem, serialize_blocks
from ...markdown.files import MarkdownFile, read_markdown, write_markdown
from ...markdown.parse import parse_markdown_text
from ...models.prompts import own_prompt
from ...settings.models import Models
from ...settings.project import Project, load_project
from ..chat import ChatRun
from ..check.document import CheckedDocument
from ..check.finding import report_findings
from ..check.mistakes import UNREAD, find_mistakes
from ..decisions import Decision, decide_edits
from ..edit import EditRun, requests_in
from ..header import report_broken_edits
from ..record import clear_messages, pending_messages
from ..requests import Screen, Talk
from .document import project_of, reporting
from .passes import SaveTo, Work, check_save_to, save_as

_ATTEMPTS = 5  # to write into a file with concurrent writers
_GONE = "its block is gone or has changed meanwhile; what came of it"


@dataclass
class DocumentChat:
    """The chats and edits of a document, in the steps of `ChatRun`."""

    models: Models
    project: Project
    logger: LoggerBase
    edits: bool = True
    screen: Screen | None = None
    runs: list[ChatRun | EditRun] = field(default_factory=list)

    def start(self, blocks: Sequence[Block]) -> bool:
        """Find the questions; return True if there are any, and a model."""
        if report_broken_edits(blocks, self.logger) or not any(map(self._asks, blocks)):
            return False
        try:
            talk = Talk(
                self.models.asker(self.project, "major"),
                self.project.system,
                self.project.requests("major").context_tokens,
                own_prompt("chat", self.project.templates),
                own_prompt("edit", self.project.templates),
            )
        except ModelError as error:
            self.logger.error(f"not asked: {error}")
            return False
        self.runs = [ChatRun(talk, self.logger, self.screen)]
        self.runs += [EditRun(talk, self.logger, self.screen)] if self.edits else []
        for run in self.runs:
            run.start(blocks)
        return any(run.open for run in self.runs)

    def _asks(self, block: Block) -> bool:
        if not isinstance(block, MetadataBlock):
            return False
        _, by_hand, new = pending_messages(block)
        return bool(by_hand or new or (self.edits and requests_in(block)[1]))

    async def ask(self) -> None:
        import asyncio

        await asyncio.gather(*(run.ask() for run in self.runs))

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """Return the document with the answers; see `ChatRun.apply`."""
        applied = list(blocks)
        for run in self.runs:
            applied = run.apply(applied)
        return applied

    def unmerged(self) -> list[str]:
        """Return answers without a place in the document, as markdown."""
        return [unmerged.markdown for run in self.runs for unmerged in run.unmerged]

    def delivered(self) -> None:
        """Drop written answers from the cache, so that repeated questions get new ones."""
        for run in self.runs:
            for request in run.answered:
                run.talk.asker.forget(request)
            run.answered.clear()


@dataclass
class ConversationWork:
    """The work of `lmm chat`."""

    models: Models
    screen: Screen | None = None

    async def finish(self, path: Path, logger: LoggerBase) -> bool:
        """Merge answers into a file, also after an interruption; return True if it was written.

        Raise OSError, MarkdownError and ConfigError.
        """
        file, talk = self._begin(path, logger)
        if talk is None:
            return False
        try:
            await talk.ask()
        finally:
            changed = save_merged(file, talk, in_file(logger, path))
        return changed

    async def blocks(self, path: Path, logger: LoggerBase) -> list[Block]:
        """Return a file's blocks with the answers, without writing."""
        file, talk = self._begin(path, logger)
        blocks = parse_markdown_text(file.text)
        if talk is None:
            return blocks
        await talk.ask()
        return talk.apply(blocks)

    def _begin(self, path: Path, logger: LoggerBase) -> tuple[MarkdownFile, DocumentChat | None]:
        file, located = read_markdown(path), in_file(logger, path)
        problems: list[Problem] = []
        blocks = parse_markdown_text(file.text, problems)
        mistakes = find_mistakes(CheckedDocument(blocks), problems)
        report_findings((mistake for mistake in mistakes if mistake.code in UNREAD), located)
        project = project_of(blocks, load_project(path), located)
        if project is None:
            return file, None
        talk = DocumentChat(self.models, project, located, screen=self.screen)
        return file, talk if talk.start(blocks) else None


def save_merged(file: MarkdownFile, talk: DocumentChat, logger: LoggerBase) -> bool:
    """Merge answers into a file's current blocks; return True if it was written. Raise OSError and MarkdownError."""
    for _ in range(_ATTEMPTS):
        text = serialize_blocks(talk.apply(parse_markdown_text(file.text)))
        try:
            if text != file.text:
                write_markdown(file.path, text, file)
            keep_unmerged(file.path, talk.unmerged(), logger)
            talk.delivered()
            return text != file.text
        except ChangedError:
            file = _load_again(file, talk, logger)
    raise ChangedError(
        f"{file.path}: other programs keep writing this file; the answers are in the reply cache, so run this again"
    )


def _load_again(file: MarkdownFile, talk: DocumentChat, logger: LoggerBase) -> MarkdownFile:
    """Return the current file; if unreadable, keep all answers and raise."""
    try:
        return read_markdown(file.path)
    except (OSError, MarkdownError):
        talk.apply([])
        keep_unmerged(file.path, talk.unmerged(), logger)
        talk.delivered()
        raise


def keep_unmerged(path: Path, texts: Sequence[str], logger: LoggerBase, why: str = _GONE) -> None:
    """Append unmerged texts to a file beside `path`, and report why."""
    if not texts:
        return
    beside = _beside(path)
    existing = read_markdown(beside).text if beside.exists() else ""
    addition = "\n\n---\n\n".join(texts)
    write_markdown(beside, f"{existing}{'---' + chr(10) * 2 if existing else ''}{addition}\n\n")
    logger.error(f"{why} is kept in {beside}")


def _beside(path: Path) -> Path:
    """Return the file for unmerged texts, no symbolic link."""
    names = (path.name + ("" if number == 1 else f".{number}") + UNMERGED for number in count(1))
    return next(beside for name in names if not (beside := path.with_name(name)).is_symlink())


@validated
def markdown_messages(
    path: str | Path, save: SaveTo = True, model: str = "", logger: LoggerBase | None = None
) -> list[Block] | None:
    """Answer a file's questions and messages, and propose requested edits.

    save: whether to write the file (merged with changes made meanwhile), or a path to write to; model: replaces the
    configured one. Return the blocks, or None after reporting an error. Raise ConfigError.
    """
    return _talk(Path(path), save, ConversationWork(Models(model)), logger or ConsoleLogger())


def clear_work(edits: bool = False) -> Work:
    """Return the work of removing chats; `edits` removes requests and rejects pending edits, too."""

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        decided = decide_edits(blocks, None, logger, accept=False).blocks if edits else blocks
        return clear_messages(decided, edits, logger)

    return work


def _talk(path: Path, save: SaveTo, work: ConversationWork, logger: LoggerBase) -> list[Block] | None:
    from ...models.chat import run, then_close

    async def talk() -> list[Block]:
        if save is True:
            await work.finish(path, logger)
            return parse_markdown_text(read_markdown(path).text)
        return await work.blocks(path, logger)

    def talk_and_save() -> list[Block]:
        check_save_to(path, save)
        blocks = run(then_close(talk(), work.models))
        if save is not True:
            save_as(read_markdown(path), serialize_blocks(blocks), save)
        return blocks

    return reporting(talk_and_save, logger)


def decide(path: Path, line: int | None, logger: LoggerBase, *, accept: bool) -> Decision:
    """Accept or reject the edits of a file (or one). Raise OSError and MarkdownError."""
    file = read_markdown(path)
    located = in_file(logger, path)
    decision = decide_edits(parse_markdown_text(file.text), line, located, accept=accept)
    text = serialize_blocks(decision.blocks)
    if text != file.text:
        write_markdown(path, text, file)
    keep_unmerged(path, decision.unplaced, located, "metadata of yours that found no place in the new text")
    return decision
