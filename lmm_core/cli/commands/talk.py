"""The commands for talking to the model inside the documents."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ...logging import say
from ...scan.annotations.removal import REMOVABLE, By
from ...workflows.models import Models
from ...workflows.passes import AnnotationClearing
from ...workflows.talk import ConversationWork, clear_work, decide, watch_files
from ..arguments import asking_options, find_documents, json_option, paths_argument, writing_options
from ..files import exit_with_outcomes, for_each, rewrite
from ..reports import ReportPrinter, TerminalScreen, warn

_KEYS = f"Only this annotation (repeatable): {', '.join(REMOVABLE)}."


@click.command()
@paths_argument
@json_option
@asking_options
def chat(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool) -> None:
    """Answer questions (?:) and messages (+:), and propose the requested edits (=:)."""
    _talk(paths, as_json, model, jobs, quiet, chats=True)


@click.command()
@paths_argument
@json_option
@asking_options
def edit(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool) -> None:
    """Propose the requested edits (=:); questions wait."""
    _talk(paths, as_json, model, jobs, quiet, chats=False)


def _talk(paths: tuple[Path, ...], as_json: bool, model: str, jobs: int | None, quiet: bool, chats: bool) -> None:
    models = Models(model, jobs, warn)
    work = ConversationWork(models, chats=chats, screen=TerminalScreen(quiet))
    exit_with_outcomes(for_each(paths, work.finish, "answered", as_json, quiet, models))


@click.command()
@paths_argument
@asking_options
def watch(paths: tuple[Path, ...], model: str, jobs: int | None, quiet: bool) -> None:
    """Do what `chat` does each time one of the files is saved. Ctrl-C ends it."""
    find_documents(paths, ReportPrinter(quiet))
    say("waiting for a file to be saved; Ctrl-C ends this", err=True)
    try:
        for path in watch_files(paths):
            _answer(path, model, jobs, quiet)
    except KeyboardInterrupt:
        say("", err=True)


def _answer(path: Path, model: str, jobs: int | None, quiet: bool) -> None:
    """Do what `chat` does with one file, and print nothing if nothing is asked in it."""
    models = Models(model, jobs, warn)
    work = ConversationWork(models, screen=TerminalScreen(quiet))
    try:
        outcomes = for_each((path,), work.finish, "answered", quiet=True, models=models)
    except click.UsageError as error:  # a half-typed configuration, or a file that is just being replaced
        say(error.format_message(), err=True)
        return
    except SystemExit:  # stopped by Ctrl-C, which has been said
        raise KeyboardInterrupt from None
    if any(outcome.changed for outcome in outcomes) and not quiet:
        say(f"{time.strftime('%H:%M:%S')} answered: {path}", err=True)


@click.command()
@writing_options
@click.option("--edits", is_flag=True, help="Also take out the requests for edits.")
@click.option("--annotations", is_flag=True, help="Take out what the system wrote by itself instead.")
@click.option("--key", "keys", type=click.Choice(REMOVABLE), multiple=True, metavar="KEY", help=_KEYS)
@click.option("--by", type=click.Choice(["stand-in", "model"]), help="Only questions and summaries by this annotator.")
@click.option("--all", "corrected", is_flag=True, help="Also annotations that were corrected by hand or are frozen.")
def clear(
    paths: tuple[Path, ...],
    check: bool,
    diff: bool,
    as_json: bool,
    edits: bool,
    annotations: bool,
    keys: tuple[str, ...],
    by: By | None,
    corrected: bool,
) -> None:
    """Take questions, messages and answers out of the documents.

    With --annotations: what `rag` wrote. A document that nobody else has touched since is then,
    byte for byte, what it was before."""
    if annotations and edits:
        raise click.UsageError("--annotations and --edits exclude each other")
    if not annotations and (keys or by or corrected):
        raise click.UsageError("--key, --by and --all are about annotations: add --annotations")
    if by and not {"questions", "summary"}.issuperset(keys):
        raise click.UsageError("--by is about questions and summaries alone")
    if annotations:
        work = AnnotationClearing(keys, by or "", corrected)
        rewrite(paths, work.finish, check, diff, as_json, "cleared", details=work.details)
    else:
        rewrite(paths, clear_work(edits), check, diff, as_json, "cleared")


@click.command()
@paths_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def accept(paths: tuple[Path, ...], line: int | None) -> None:
    """Put the new versions in place of the old texts."""
    _decide(paths, True, line, "accepted")


@click.command()
@paths_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def reject(paths: tuple[Path, ...], line: int | None) -> None:
    """Put the old texts back, byte for byte."""
    _decide(paths, False, line, "rejected")


def _decide(paths: tuple[Path, ...], accepting: bool, line: int | None, verb: str) -> None:
    async def one(path: Path, logger: ReportPrinter) -> bool:
        return decide(path, accepting, line, logger).count > 0

    exit_with_outcomes(for_each(paths, one, verb))
