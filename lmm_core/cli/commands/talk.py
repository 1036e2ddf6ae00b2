"""The commands for talking to the model inside the documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ...scan.annotations.removal import REMOVABLE, By
from ...scan.documents.passes import AnnotationClearing
from ...scan.documents.talk import ConversationWork, KeyClearing, clear_work, decide
from ...settings.models import Models
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import asking_options, find_documents, folders_argument, json_option, writing_options
from ..files import FileOutcome, exit_with_outcomes, for_each, rewrite
from ..reports import ReportPrinter, TerminalScreen, warn
from ..session import SavedFiles, at_every_save, is_done, say_at

_KEYS = "Take this key out of all metadata instead, whoever wrote it; with --annotations, only as rag wrote it."


@click.command()
@folders_argument
@json_option
@click.option("--watch", is_flag=True, help="Go on: answer each document when it is saved. Ctrl-C ends it.")
@asking_options
def chat(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    as_json: bool,
    watch: bool,
    model: str,
    jobs: int | None,
    quiet: bool,
) -> None:
    """Answer questions in the text, and propose requested edits."""
    if watch and as_json:
        raise click.UsageError("--watch and --json exclude each other")
    if watch:
        find_documents(paths, ReportPrinter(quiet), finder=finder)
        at_every_save(SavedFiles(paths, finder), lambda saved: _answer(saved.paths, model, jobs, quiet))
        return
    models = Models(model, jobs, warn)
    work = ConversationWork(models, screen=TerminalScreen(quiet))
    exit_with_outcomes(for_each(paths, work.finish, "answered", as_json, quiet, models, finder=finder))


def _answer(paths: Sequence[Path], model: str, jobs: int | None, quiet: bool) -> bool:
    """Do what `chat` does with files, and print nothing of those that ask nothing. Return False if it failed."""
    done = [_answer_one(path, model, jobs, quiet) for path in paths]
    return all(done)


def _answer_one(path: Path, model: str, jobs: int | None, quiet: bool) -> bool:
    models = Models(model, jobs, warn)
    work = ConversationWork(models, screen=TerminalScreen(quiet))
    outcomes: list[FileOutcome] = []
    done = is_done(lambda: outcomes.extend(for_each((path,), work.finish, "answered", quiet=True, models=models)))
    if any(outcome.changed for outcome in outcomes) and not quiet:
        say_at(f"answered: {path}")
    return done


@click.command()
@writing_options
@click.option("--edits", is_flag=True, help="Also take out the requests for edits.")
@click.option("--annotations", is_flag=True, help="Take out what the system wrote by itself instead.")
@click.option("--key", "keys", multiple=True, metavar="KEY", help=f"{_KEYS} Repeatable.")
@click.option("--by", type=click.Choice(["stand-in", "model"]), help="Only questions and summaries by this annotator.")
@click.option("--all", "corrected", is_flag=True, help="Also annotations that were corrected by hand or are frozen.")
def clear(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    check: bool,
    diff: bool,
    as_json: bool,
    edits: bool,
    annotations: bool,
    keys: tuple[str, ...],
    by: By | None,
    corrected: bool,
) -> None:
    """Take questions, answers and proposals out of the text.

    With --annotations: what `rag` wrote. A document that nobody else has touched since is then,
    byte for byte, what it was before.

    With --key KEY: exactly this key, as it is spelled in the header and the blocks ('~summary')."""
    if edits and (annotations or keys):
        raise click.UsageError("--edits excludes --annotations and --key")
    if not annotations and (by or corrected):
        raise click.UsageError("--by and --all are about annotations: add --annotations")
    if annotations and (wrong := [key for key in keys if key not in REMOVABLE]):
        raise click.UsageError(f"--annotations takes out {', '.join(REMOVABLE)}, and no key {wrong[0]!r}")
    if by and not {"questions", "summary"}.issuperset(keys):
        raise click.UsageError("--by is about questions and summaries alone")
    if annotations:
        work = AnnotationClearing(keys, by or "", corrected)
        rewrite(paths, work.finish, check, diff, as_json, "cleared", details=work.details, finder=finder)
    elif keys:
        named = KeyClearing(keys)
        try:
            rewrite(paths, named.finish, check, diff, as_json, "cleared", details=named.details, finder=finder)
        finally:
            for said in named.unknown():
                warn(said)
    else:
        rewrite(paths, clear_work(edits), check, diff, as_json, "cleared", finder=finder)


@click.command()
@folders_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def accept(paths: tuple[Path, ...], finder: DocumentFinder, line: int | None) -> None:
    """Put the new versions in place of the old texts."""
    _decide(paths, finder, True, line, "accepted")


@click.command()
@folders_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def reject(paths: tuple[Path, ...], finder: DocumentFinder, line: int | None) -> None:
    """Put the old texts back, byte for byte."""
    _decide(paths, finder, False, line, "rejected")


def _decide(paths: tuple[Path, ...], finder: DocumentFinder, accepting: bool, line: int | None, verb: str) -> None:
    async def one(path: Path, logger: ReportPrinter) -> bool:
        return decide(path, accepting, line, logger).count > 0

    exit_with_outcomes(for_each(paths, one, verb, finder=finder))
