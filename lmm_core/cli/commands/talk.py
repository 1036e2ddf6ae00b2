"""Commands for talking to the model inside the documents."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from ...logging import LoggerBase, say
from ...markdown.blocks import Block
from ...markdown.files import MarkdownFile, find_markdown
from ...scan.chat import clear_messages
from ...workflows.models import Models
from ...workflows.talk import ConversationWork, decide
from ..reports import (
    Told,
    asking_options,
    find,
    for_each,
    json_option,
    leave,
    paths_argument,
    rewrite,
    warn,
    writing_options,
)

SECONDS_BETWEEN_LOOKS = 0.3


@click.command()
@paths_argument
@json_option
@asking_options
def chat(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool) -> None:
    """Answer questions (?:) and messages (+:), and propose the edits (=:) asked for."""
    _talk(paths, as_json, model, jobs, quiet, chats=True)


@click.command()
@paths_argument
@json_option
@asking_options
def edit(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool) -> None:
    """Propose the edits (=:) asked for; questions wait."""
    _talk(paths, as_json, model, jobs, quiet, chats=False)


def _talk(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool, chats: bool) -> None:
    models = Models(model, jobs, warn)
    work = ConversationWork(models, chats=chats, screen=TerminalScreen(quiet))
    leave(for_each(paths, work.finish, "answered", as_json, quiet, models))


@click.command()
@paths_argument
@asking_options
def watch(paths: tuple[Path, ...], model: str, jobs: int | None, quiet: bool) -> None:
    """Do what `chat` does, each time that one of the files is saved; Ctrl-C ends it."""
    find(paths, Told(quiet))
    say("waiting for a file to be saved; Ctrl-C ends this", err=True)
    seen: dict[Path, tuple[int, int]] = {}
    try:
        while True:
            for path in _files(paths):
                stamp = _stamp(path)
                if stamp is not None and seen.get(path) != stamp:
                    # by its state before: what was saved during the request is looked at, too
                    seen[path] = stamp
                    _answer(path, model, jobs, quiet)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except KeyboardInterrupt:
        say("", err=True)


def _files(paths: tuple[Path, ...]) -> list[Path]:
    """The files that are there just now: an editor may be about to replace one."""
    return find_markdown([path for path in paths if path.exists()])


def _stamp(path: Path) -> tuple[int, int] | None:
    """By what a saved file is noticed; None for one that is just being replaced."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def _answer(path: Path, model: str, jobs: int | None, quiet: bool) -> None:
    """What `chat` does with one file, which says nothing where nothing is asked."""
    models = Models(model, jobs, warn)
    work = ConversationWork(models, screen=TerminalScreen(quiet))
    try:
        outcomes = for_each((path,), work.finish, "answered", quiet=True, models=models)
    except click.UsageError as error:  # a half-typed configuration, or a file just being replaced
        say(error.format_message(), err=True)
        return
    except SystemExit:  # stopped by Ctrl-C, which has been said
        raise KeyboardInterrupt from None
    if any(outcome.changed for outcome in outcomes) and not quiet:
        say(f"{time.strftime('%H:%M:%S')} answered: {path}", err=True)


class TerminalScreen:
    """Shows one answer at a time on a terminal, as it comes."""

    def __init__(self, quiet: bool) -> None:
        self.free = not quiet and sys.stderr.isatty()

    def begin(self, question: str) -> Callable[[str], None] | None:
        """Take the screen for the answer to a question; None where it is taken."""
        if not self.free:
            return None
        self.free = False
        say(" ".join(question.split())[:100], err=True, style="dim")
        return lambda part: say(part, err=True, nl=False)

    def end(self) -> None:
        """Leave the screen to another answer."""
        say("", err=True)
        self.free = True


@click.command()
@writing_options
@click.option("--edits", is_flag=True, help="The requests for edits, too.")
def clear(paths: tuple[Path, ...], check: bool, diff: bool, as_json: bool, edits: bool) -> None:
    """Take questions, messages and answers out of the documents."""

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        return clear_messages(blocks, edits, logger)

    rewrite(paths, work, check, diff, as_json, "cleared")


@click.command()
@paths_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="The edit at this line alone.")
def accept(paths: tuple[Path, ...], line: int | None) -> None:
    """Put the new versions in place of the old texts."""
    _decide(paths, True, line, "accepted")


@click.command()
@paths_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="The edit at this line alone.")
def reject(paths: tuple[Path, ...], line: int | None) -> None:
    """Put the old texts back, byte for byte."""
    _decide(paths, False, line, "rejected")


def _decide(paths: tuple[Path, ...], accepting: bool, line: int | None, verb: str) -> None:
    async def one(path: Path, logger: Told) -> bool:
        return decide(path, accepting, line, logger).count > 0

    leave(for_each(paths, one, verb))
