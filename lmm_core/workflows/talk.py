"""Chats and edits in files: the model is asked, and what it says is written into what
the file holds by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ..errors import ChangedError, MarkdownError, ModelError
from ..files.walk import UNMERGED
from ..logging import ConsoleLogger, LoggerBase, in_file
from ..markdown.blocks import Block, MetadataBlock, serialize_blocks
from ..markdown.files import MarkdownFile, load_markdown, save_markdown
from ..markdown.parse import parse_markdown_text
from ..scan.chat import ChatRun
from ..scan.edit import EditRun, requests_in
from ..scan.exchange.decisions import Decision, accept_edits, reject_edits
from ..scan.exchange.record import clear_messages, pending_messages
from ..scan.exchange.requests import Screen, Talk
from ..scan.header import report_broken
from ..settings.arguments import validated
from ..settings.project import Project, load_project
from .models import Models
from .passes import SaveTo, check_save_to, project_of, reporting, run_on_file, save_as

_ATTEMPTS = 5
_GONE = "its block has gone or changed meanwhile; what came of it"


@dataclass
class DocumentChat:
    """The chats and edits of one document, in the steps of `ChatRun`. It asks for
    nothing, and needs no model, where nothing is open."""

    models: Models
    project: Project
    logger: LoggerBase
    chats: bool = True
    edits: bool = True
    screen: Screen | None = None
    runs: list[ChatRun | EditRun] = field(default_factory=list)

    def start(self, blocks: Sequence[Block]) -> bool:
        """Find what has to be asked; whether there is something, and somebody to ask.
        A model that is not there is reported."""
        if report_broken(blocks, self.logger) or not any(map(self._asks, blocks)):
            return False
        try:
            talk = Talk(
                self.models.asker(self.project, "major"),
                self.project.system,
                self.project.requests["major"].context_tokens,
            )
        except ModelError as error:
            self.logger.error(f"not asked: {error}")
            return False
        self.runs = [ChatRun(talk, self.logger, self.screen)] if self.chats else []
        self.runs += [EditRun(talk, self.logger, self.screen)] if self.edits else []
        for run in self.runs:
            run.start(blocks)
        return any(run.open for run in self.runs)

    def _asks(self, block: Block) -> bool:
        """Whether a block asks for something."""
        if not isinstance(block, MetadataBlock):
            return False
        _, by_hand, new = pending_messages(block) if self.chats else ([], [], [])
        return bool(by_hand or new or (self.edits and requests_in(block)[1]))

    async def ask(self) -> None:
        """Ask for everything, at the same time."""
        import asyncio

        await asyncio.gather(*(run.ask() for run in self.runs))

    def apply(self, blocks: Sequence[Block]) -> list[Block]:
        """The document with what was said; see `ChatRun.apply`."""
        made = list(blocks)
        for run in self.runs:
            made = run.apply(made)
        return made

    def unmerged(self) -> list[str]:
        """What found no place in the document, as markdown."""
        return [unmerged.markdown for run in self.runs for unmerged in run.unmerged]

    def delivered(self) -> None:
        """What was said is in the file: asked again, the model is to answer anew."""
        for run in self.runs:
            for request in run.answered:
                run.talk.asker.forget(request)
            run.answered.clear()


@dataclass
class ConversationWork:
    """What `lmm chat` does with files. screen: where answers are shown as they come."""

    models: Models
    chats: bool = True
    edits: bool = True
    screen: Screen | None = None

    async def finish(self, path: Path, logger: LoggerBase) -> bool:
        """Ask what a file asks, and write the answers into it, whatever has become of it
        meanwhile. What was answered is written where the work is stopped, too. Returns
        whether something was written. Raises OSError, MarkdownError and ConfigError."""
        file, talk = self._begin(path, logger)
        if talk is None:
            return False
        try:
            await talk.ask()
        finally:
            changed = save_merged(file, talk, in_file(logger, path))
        return changed

    async def blocks(self, path: Path, logger: LoggerBase) -> list[Block]:
        """The blocks of a file with the answers; nothing is written."""
        file, talk = self._begin(path, logger)
        blocks = parse_markdown_text(file.text)
        if talk is None:
            return blocks
        await talk.ask()
        return talk.apply(blocks)

    def _begin(self, path: Path, logger: LoggerBase) -> tuple[MarkdownFile, DocumentChat | None]:
        file = load_markdown(path)
        blocks = parse_markdown_text(file.text)
        located = in_file(logger, path)
        project = project_of(blocks, load_project(path), located)
        if project is None:
            return file, None
        talk = DocumentChat(self.models, project, located, self.chats, self.edits, self.screen)
        return file, talk if talk.start(blocks) else None


def save_merged(file: MarkdownFile, talk: DocumentChat, logger: LoggerBase) -> bool:
    """Write what was said into a file: into its blocks as they are now. What finds no
    place is kept beside it. Returns whether the file was written."""
    for _ in range(_ATTEMPTS):
        text = serialize_blocks(talk.apply(parse_markdown_text(file.text)))
        try:
            if text != file.text:
                save_markdown(file.path, text, file)
            keep_unmerged(file.path, talk.unmerged(), logger)
            talk.delivered()
            return text != file.text
        except ChangedError:
            file = _load_again(file, talk, logger)
    raise ChangedError(f"{file.path}: is being written all the time; the answers are in the reply cache: run again")


def _load_again(file: MarkdownFile, talk: DocumentChat, logger: LoggerBase) -> MarkdownFile:
    """A file as it is now. Where it is gone or cannot be read, all that was said is kept
    beside it, and OSError or MarkdownError raised."""
    try:
        return load_markdown(file.path)
    except (OSError, MarkdownError):
        talk.apply([])
        keep_unmerged(file.path, talk.unmerged(), logger)
        talk.delivered()
        raise


def keep_unmerged(path: Path, texts: Sequence[str], logger: LoggerBase, why: str = _GONE) -> None:
    """Put texts that found no place in a file beside it, behind those that are there."""
    if not texts:
        return
    beside = _beside(path)
    before = load_markdown(beside).text if beside.exists() else ""
    added = "\n\n---\n\n".join(texts)
    save_markdown(beside, f"{before}{'---' + chr(10) * 2 if before else ''}{added}\n\n")
    logger.error(f"{why} is kept in {beside}")


def _beside(path: Path) -> Path:
    """The file for what finds no place in another; in somebody else's folder such a name may be
    that of a link, and lead anywhere."""
    names = (path.name + ("" if number == 1 else f".{number}") + UNMERGED for number in count(1))
    return next(beside for name in names if not (beside := path.with_name(name)).is_symlink())


# On single files, for the REPL and scripts


@validated
def markdown_messages(
    path: str | Path, save_to: SaveTo = True, model: str = "", logger: LoggerBase | None = None
) -> list[Block] | None:
    """Answer the questions and messages of a file.

    save_to: True writes the file (merging with what an editor has saved meanwhile), False
    writes nothing, a path writes there. model: in place of the one that header and
    configuration name. Returns the blocks; None where the file cannot be read or written,
    which is reported. Raises ConfigError."""
    return _talk(Path(path), save_to, ConversationWork(Models(model), edits=False), logger or ConsoleLogger())


@validated
def markdown_edits(
    path: str | Path, save_to: SaveTo = True, model: str = "", logger: LoggerBase | None = None
) -> list[Block] | None:
    """Propose the new versions that a file asks for; as `markdown_messages`."""
    return _talk(Path(path), save_to, ConversationWork(Models(model), chats=False), logger or ConsoleLogger())


@validated
def markdown_clear_messages(
    path: str | Path, edits: bool = False, save_to: SaveTo = True, logger: LoggerBase | None = None
) -> list[Block] | None:
    """Take the chats out of a file, and with `edits` the requests for edits; the rest as
    `markdown_messages`."""

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        return clear_messages(blocks, edits, logger)

    return run_on_file(Path(path), work, save_to, logger)


def _talk(path: Path, save_to: SaveTo, work: ConversationWork, logger: LoggerBase) -> list[Block] | None:
    from ..models.chat import run

    async def talk() -> list[Block]:
        try:
            if save_to is True:
                await work.finish(path, logger)
                return parse_markdown_text(load_markdown(path).text)
            return await work.blocks(path, logger)
        finally:
            await work.models.close()

    def talk_and_save() -> list[Block]:
        check_save_to(path, save_to)
        blocks = run(talk())
        if save_to is not True:
            save_as(load_markdown(path), serialize_blocks(blocks), save_to)
        return blocks

    return reporting(path, talk_and_save, logger)


def decide(path: Path, accept: bool, line: int | None, logger: LoggerBase) -> Decision:
    """Accept or reject the edits of a file (the one at a line), and write it. Raises
    OSError and MarkdownError."""
    file = load_markdown(path)
    located = in_file(logger, path)
    decision = (accept_edits if accept else reject_edits)(parse_markdown_text(file.text), line, located)
    text = serialize_blocks(decision.blocks)
    if text != file.text:
        save_markdown(path, text, file)
    keep_unmerged(path, decision.unplaced, located, "metadata of yours that found no place in the new text")
    return decision
