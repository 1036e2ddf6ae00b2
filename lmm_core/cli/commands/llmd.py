"""The commands for LLMD documents, in which a person and a model work on a project."""

from __future__ import annotations

import asyncio
import glob
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from ...errors import MarkdownError
from ...files.outputs import MARKDOWN
from ...llmd.chat import chat
from ...llmd.document import MISSION
from ...llmd.project import Proposal, check, is_applied, last_applied, new_document, open_document, propose, sync
from ...logging import LoggerBase, Report, counted, in_file, say, visible
from ...markdown.files import write_markdown
from ...models.chat import then_close
from ..arguments import Asking, asking_options, check_written
from ..reports import ReportPrinter, TerminalScreen, cost, exit_with_status, print_diff, report_failure

_document = click.argument("document", type=click.Path(dir_okay=False, path_type=Path))
_allow = click.option(
    "--allow", multiple=True, metavar="PATTERN", help="Let replies change or create matching files, too."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Apply without asking.")


class _EscapingPrinter(ReportPrinter):
    """A printer that escapes invisible characters, since quoted documents and replies could control the terminal."""

    def report(self, report: Report) -> None:
        message = "\n".join(visible(line) for line in report.message.split("\n"))
        super().report(replace(report, message=message))


@click.group()
def llmd() -> None:
    """Work with a model on a project in one document.

    The document contains the mission, the files, a changelog, and the conversation.
    Changes that the model proposes are made only when you apply them. No code is ever run."""


@llmd.command()
@_document
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES…]")
@click.option("--name", default="", help="The project's name (default: the document's).")
@click.option("--code", multiple=True, metavar="PATTERN", help="Files for the code context ('src/**/*.py').")
def new(document: Path, files: tuple[Path, ...], name: str, code: tuple[str, ...]) -> None:
    """Create a document about some files."""
    code_files = _find_files(code, files)
    if document.exists() or document.is_symlink():
        raise click.UsageError(f"{document}: already exists, so nothing was written")
    check_written(document, code_files, MARKDOWN)

    with _reporting(document) as logger:
        count = new_document(document, name.strip() or document.stem, code_files, logger)
        say(f"{document}: {counted(count, 'file')} in its code context. Write what you want into it.", err=True)


def _find_files(patterns: tuple[str, ...], files: tuple[Path, ...]) -> list[Path]:
    chosen = list(files)
    for pattern in patterns:
        names = glob.glob(pattern, recursive=True)  # noqa: PTH207 (skips hidden files, as a shell does)
        matches = [path for path in map(Path, sorted(names)) if not path.is_dir()]
        if not matches and not Path(pattern).is_dir():
            raise click.UsageError(f"--code: no file matches {pattern!r}")
        chosen += matches or [Path(pattern)]
    if folders := [str(path) for path in chosen if path.is_dir()]:
        raise click.UsageError(f"{folders[0]} is a folder: name its files ({Path(folders[0]) / '**' / '*.py'})")
    return sorted(set(chosen))


@llmd.command("chat")
@_document
@_allow
@asking_options
def answer_entry(document: Path, allow: tuple[str, ...], asking: Asking) -> None:
    """Answer the last entry.

    The answer is written into the document, and no other file is changed. Changes that the answer
    proposes are shown as a diff."""
    quiet = asking.quiet
    models, began = asking.models(), time.monotonic()
    with _reporting(document, quiet) as logger:
        answer = chat(document, models, in_file(logger, document), TerminalScreen(quiet))
        if not asyncio.run(then_close(answer, models)):
            return
        if not quiet:
            say(f"answered: {document}{cost(models, began)}", err=True)
        proposal, located = propose(open_document(document, logger), allow), in_file(logger, document)
        if proposal and _show(proposal, located, located.warning) and not quiet:
            allowed = [word for pattern in allow for word in ("--allow", pattern)]
            say(f"{_command_line('apply', document, *allowed)} makes these changes", err=True)


@llmd.command()
@_document
@_allow
@_yes
def apply(document: Path, allow: tuple[str, ...], yes: bool) -> None:
    """Make the changes that the last answer proposes.

    They are shown as a diff first. Either all are made, in files and document, or none."""
    with _reporting(document) as logger:
        proposal = propose(open_document(document, logger), allow)
        if proposal is None:
            logger.error(f"{document}: there is no reply to apply: ask for one with {_command_line('chat', document)}")
        elif is_applied(proposal):
            say(f"entry {proposal.entry.number} has been applied already", err=True)
        else:
            located = in_file(logger, document)
            if _show(proposal, located, located.error):
                _apply(proposal, yes)


def _apply(proposal: Proposal, yes: bool) -> None:
    count = counted(len(proposal.plan.changes), "file")
    if not yes and not click.confirm(f"Change {count} and the document?", err=True):
        say("nothing was changed", err=True)
        return
    proposal.apply()
    undo = _command_line("undo", proposal.opened.file.path)
    say(f"applied: {count} and the document ({undo} takes it back)", err=True)


def _show(proposal: Proposal, logger: LoggerBase, tell_problem: Callable[[str, int], None]) -> bool:
    """Print proposed changes or problems (by `tell_problem`, with their line). Return True if there are changes."""
    for problem in proposal.plan.problems:
        tell_problem(problem.message, problem.line)
    if proposal.plan.problems or proposal.empty:
        why = "cannot be applied" if proposal.plan.problems else "proposes no changes"
        say(f"entry {proposal.entry.number} {why}", err=True)
        return False
    for problem in proposal.plan.warnings:
        logger.warning(problem.message, problem.line)
    name = str(proposal.opened.file.path)
    for change in proposal.plan.changes:
        print_diff(change.path, change.old, change.new)
    before, after = proposal.opened.llmd, proposal.plan.document
    missions = (f"{llmd.parts[MISSION].text}\n" if MISSION in llmd.parts else "" for llmd in (before, after))
    print_diff(f"{name} (mission)", *missions)
    items = ("- " + item.text.replace("\n", "\n  ") + "\n" for item in after.changelog[len(before.changelog) :])
    print_diff(f"{name} (changelog)", "", "".join(items))
    return True


@llmd.command("check")
@_document
def check_document(document: Path) -> None:
    """Look for errors in the document.

    The exit status is 1 if it is not well-formed, or if its code context differs from the files."""
    with _reporting(document) as logger:
        opened = open_document(document, logger)
        located = in_file(logger, document)
        for problem in check(opened):
            located.error(problem.message, problem.line)
        if not logger.count():
            say(f"{document}: well-formed; {counted(len(opened.llmd.files), 'file')} as on disk", err=True)


@llmd.command("sync")
@_document
def sync_document(document: Path) -> None:
    """Refresh the code context from disk."""
    with _reporting(document) as logger:
        opened = open_document(document, logger)
        synced = sync(opened, in_file(logger, document))
        if synced.text == opened.llmd.text:
            say(f"{document}: nothing to refresh", err=True)
            return
        write_markdown(document, synced.text, opened.file)
        print_diff(str(document), opened.llmd.text, synced.text)
        say(f"refreshed: {document}", err=True)


@llmd.command()
@_document
def undo(document: Path) -> None:
    """Undo what was applied last.

    Files and document become what they were, byte for byte; only text added at the end of the
    document since then stays. If anything else has changed since then, it is shown, and nothing is
    undone."""
    with _reporting(document) as logger:
        journal, applied = last_applied(document, logger)
        if applied is None:
            logger.error(f"{document}: there is nothing to undo")
            return
        if changed := journal.changed_since(applied):
            for path, earlier, current in changed:
                print_diff(path, _text(earlier), _text(current))
            names = ", ".join(path for path, _, _ in changed)
            logger.error(f"nothing was undone, since these files have changed, as shown: {names}")
            return
        with journal.lock():
            journal.undo(applied)
        names = ", ".join(change.path for change in applied.changes)
        say(f"undone: entry {applied.entry}: {names}", err=True)


# Helpers


@contextmanager
def _reporting(document: Path, quiet: bool = False) -> Iterator[ReportPrinter]:
    logger = _EscapingPrinter(quiet)
    try:
        yield logger
    except BrokenPipeError:  # `| head`
        logger.error("stopped, since the output was not read to its end")
    except (OSError, MarkdownError) as error:
        path = Path(error.filename) if isinstance(error, OSError) and error.filename else document
        report_failure(error, path, logger)
    exit_with_status(logger)


def _command_line(name: str, document: Path, *words: str) -> str:
    return shlex.join(["lmm", "llmd", name, str(document), *words])


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
