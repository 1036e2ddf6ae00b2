"""The commands for conversations with the model in documents."""

from __future__ import annotations

from pathlib import Path

import click

from ...logging import say
from ...scan.documents.passes import clear_annotations
from ...scan.documents.talk import ConversationWork, clear_work, decide
from ...settings.models import Models
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import Asking, Writing, asking_options, find_documents, folders_argument, json_option, writing_options
from ..files import FileWork, exit_with_outcomes, for_each, rewrite, work_on_saved
from ..reports import ReportPrinter, TerminalScreen
from ..session import SavedFiles, at_every_save

HOW_TO_ASK = """There is no new question. To ask one, write before a paragraph or a heading:
    ---
    ?: Is this clear to a beginner?
    ---
`=: Make this shorter.` in its place asks for a new version of the text."""


@click.command()
@folders_argument
@json_option
@click.option("--watch", is_flag=True, help="Keep running: answer each document when it is saved.")
@asking_options
def chat(paths: tuple[Path, ...], finder: DocumentFinder, as_json: bool, watch: bool, asking: Asking) -> None:
    """Answer questions in the text, and propose requested edits."""
    if watch and as_json:
        raise click.UsageError("--watch and --json exclude each other")
    quiet = asking.quiet
    if watch:
        find_documents(paths, ReportPrinter(quiet), finder=finder)
        at_every_save(
            SavedFiles(paths, finder), lambda saved: work_on_saved(saved, _answering(asking.models(), asking), quiet)
        )
        return
    models = asking.models(paths)
    outcomes = for_each(paths, _answering(models, asking), finder, as_json=as_json, quiet=quiet)
    if not any((quiet, as_json, models.usage.requests, *(outcome.changed or outcome.reports for outcome in outcomes))):
        say(HOW_TO_ASK, err=True)
    exit_with_outcomes(outcomes)


def _answering(models: Models, asking: Asking) -> FileWork:
    return FileWork(ConversationWork(models, TerminalScreen(asking.quiet)).finish, "answered", models)


@click.command()
@writing_options
@click.option("--edits", is_flag=True, help="Also remove requests for edits; pending edits are rejected.")
@click.option("--annotations", is_flag=True, help="Remove what lmm rag wrote, instead of chats.")
@click.option("--all", "corrected", is_flag=True, help="Also annotations that you have corrected or frozen.")
def clear(writing: Writing, edits: bool, annotations: bool, corrected: bool) -> None:
    """Remove chats or annotations from the text.

    Without --annotations, annotations stay. With it, what `lmm rag` wrote is removed instead: a document
    that was not edited since is then, byte for byte, what it was before."""
    if edits and annotations:
        raise click.UsageError("--edits and --annotations exclude each other")
    if corrected and not annotations:
        raise click.UsageError("--all is about annotations: add --annotations")
    rewrite(writing, clear_annotations(corrected) if annotations else clear_work(edits), "cleared")


@click.command()
@folders_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def accept(paths: tuple[Path, ...], finder: DocumentFinder, line: int | None) -> None:
    """Replace old texts by their new versions."""
    _decide(paths, finder, line, "accepted", accept=True)


@click.command()
@folders_argument
@click.option("--at", "line", type=click.IntRange(1), metavar="LINE", help="Only the edit at this line.")
def reject(paths: tuple[Path, ...], finder: DocumentFinder, line: int | None) -> None:
    """Restore old texts, byte for byte."""
    _decide(paths, finder, line, "rejected", accept=False)


def _decide(paths: tuple[Path, ...], finder: DocumentFinder, line: int | None, verb: str, *, accept: bool) -> None:
    async def decide_one(path: Path, logger: ReportPrinter) -> bool:
        return decide(path, line, logger, accept=accept).count > 0

    outcomes = for_each(paths, FileWork(decide_one, verb), finder)
    if not any(outcome.changed or outcome.reports for outcome in outcomes):
        say("No edit is proposed there.", err=True)
    exit_with_outcomes(outcomes)
