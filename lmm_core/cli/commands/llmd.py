"""Commands for LLMD documents: a person and a model work on a project in one file."""

from __future__ import annotations

import glob
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import MarkdownError
from ...files.outputs import MARKDOWN
from ...logging import LocatedLogger, LoggerBase, Report, counted, say, visible
from ...workflows.models import Models
from ..reports import Told, asking_options, check_written, cost, leave, print_diff, run, tell, warn
from .talk import TerminalScreen

if TYPE_CHECKING:
    from ...workflows.llmd.document import Proposal

_document = click.argument("document", type=click.Path(dir_okay=False, path_type=Path))
_allow = click.option(
    "--allow", multiple=True, metavar="PATTERN", help="Files outside the code context that may be changed or made."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Apply without asking.")


class _Told(Told):
    """Shows signs that are not seen as escapes: documents and replies are quoted in messages, and
    could steer the terminal."""

    def report(self, report: Report) -> None:
        shown = "\n".join(visible(line) for line in report.message.split("\n"))
        super().report(replace(report, message=shown))


@click.group()
def llmd() -> None:
    """Work on a project in one document, together with a model.

    The document holds the mission, the files, what has changed, and the conversation.
    Changes that the model proposes are made when you apply them; nothing is run."""


@llmd.command()
@_document
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILES…]")
@click.option("--name", default="", help="The project's name (else the document's).")
@click.option("--code", multiple=True, metavar="PATTERN", help="Files for the code context ('src/**/*.py').")
def new(document: Path, files: tuple[Path, ...], name: str, code: tuple[str, ...]) -> None:
    """Make a document about some files."""
    from ...workflows.llmd.document import new_document

    logger = _Told()
    found = _matching(code, files)
    if document.exists() or document.is_symlink():
        raise click.UsageError(f"{document}: is there already; nothing was written")
    check_written(document, found, MARKDOWN)

    def work() -> None:
        shown = new_document(document, name.strip() or document.stem, found, logger)
        say(f"{document}: {counted(shown, 'file')} in its code context; write what you want into it", err=True)

    _reporting(document, logger, work)


def _matching(patterns: tuple[str, ...], files: tuple[Path, ...]) -> list[Path]:
    """The files named and those that patterns match, each once; the shell may have expanded
    a pattern already."""
    found = list(files)
    for pattern in patterns:
        names = glob.glob(pattern, recursive=True)  # noqa: PTH207 (as the shell does: without hidden files)
        matches = [path for path in map(Path, sorted(names)) if not path.is_dir()]
        if not matches and not Path(pattern).is_dir():
            raise click.UsageError(f"--code: no file is like {pattern!r}")
        found += matches or [Path(pattern)]
    if folders := [str(path) for path in found if path.is_dir()]:
        raise click.UsageError(f"{folders[0]} is a folder: name its files ({Path(folders[0]) / '**' / '*.py'})")
    return sorted(set(found))


@llmd.command()
@_document
@_allow
@asking_options
def chat(document: Path, allow: tuple[str, ...], model: str, jobs: int | None, quiet: bool) -> None:
    """Answer the last entry.

    What the answer proposes to change is shown as a diff; nothing is changed but the
    document, in which the answer stands."""
    from ...workflows.llmd.document import chat, open_document, propose

    logger, models, began = _Told(quiet), Models(model, jobs, warn), time.monotonic()

    async def ask() -> bool:
        try:
            return await chat(document, models, _located(logger, document), TerminalScreen(quiet))
        finally:
            await models.close()

    def work() -> None:
        if not run(ask()):
            return
        if not quiet:
            say(f"answered: {document}{cost(models, began)}", err=True)
        proposal, located = propose(open_document(document, logger), allow), _located(logger, document)
        if proposal and _show(proposal, located, located.warning) and not quiet:
            allowed = [word for pattern in allow for word in ("--allow", pattern)]
            say(f"{_command('apply', document, *allowed)} makes these changes", err=True)

    _reporting(document, logger, work)


@llmd.command()
@_document
@_allow
@_yes
def apply(document: Path, allow: tuple[str, ...], yes: bool) -> None:
    """Make the changes that the last answer proposes.

    In files and document, all or none; they are shown as a diff before."""
    from ...workflows.llmd.document import is_applied, open_document, propose

    logger = _Told()

    def work() -> None:
        proposal = propose(open_document(document, logger), allow)
        if proposal is None:
            logger.error(f"{document}: no reply to apply ({_command('chat', document)} asks for one)")
        elif is_applied(proposal):
            say(f"entry {proposal.entry.number} has been applied already", err=True)
        else:
            located = _located(logger, document)
            if _show(proposal, located, located.error):
                _apply(proposal, yes)

    _reporting(document, logger, work)


def _apply(proposal: Proposal, yes: bool) -> None:
    count = counted(len(proposal.plan.changes), "file")
    if not yes and not click.confirm(f"Change {count} and the document?", err=True):
        say("nothing was changed", err=True)
        return
    proposal.apply()
    undo = _command("undo", proposal.opened.file.path)
    say(f"applied: {count} and the document ({undo} takes it back)", err=True)


def _show(proposal: Proposal, logger: LoggerBase, tell_problem: Callable[[str, int], None]) -> bool:
    """Show what a reply proposes as a diff, of files, mission and changelog, or tell why nothing
    of it can be applied. Returns whether there is something to apply."""
    for problem in proposal.problems:
        tell_problem(problem.message, problem.line)
    if proposal.problems or proposal.empty:
        why = "cannot be applied" if proposal.problems else "proposes no changes"
        say(f"entry {proposal.entry.number} {why}", err=True)
        return False
    for problem in proposal.warnings:
        logger.warning(problem.message, problem.line)
    name = str(proposal.opened.file.path)
    for one in proposal.plan.changes:
        print_diff(one.path, one.old, one.new)
    if proposal.plan.mission is not None:
        before = proposal.opened.llmd.mission
        old = f"{before.text}\n" if before and before.text else ""
        print_diff(f"{name} (mission)", old, f"{proposal.plan.mission}\n")
    items = ("- " + text.strip().replace("\n", "\n  ") + "\n" for text in proposal.plan.changelog)
    print_diff(f"{name} (changelog)", "", "".join(items))
    return True


@llmd.command()
@_document
def check(document: Path) -> None:
    """Look for what is wrong in the document.

    Exit status 1: it is not well-formed, or its code context is not what the files hold."""
    from ...workflows.llmd.document import check, open_document

    logger = _Told()

    def work() -> None:
        opened = open_document(document, logger)
        located = _located(logger, document)
        for problem in check(opened):
            located.error(problem.message, problem.line)
        if not logger.count():
            say(f"{document}: well-formed; {counted(len(opened.llmd.files), 'file')} as on disk", err=True)

    _reporting(document, logger, work)


@llmd.command()
@_document
def sync(document: Path) -> None:
    """Refresh the code context from disk."""
    from ...workflows.llmd.document import open_document, save_synced, sync

    logger = _Told()

    def work() -> None:
        opened = open_document(document, logger)
        made = sync(opened, _located(logger, document))
        if made.text == opened.llmd.text:
            say(f"{document}: nothing to refresh", err=True)
            return
        save_synced(opened, made)
        print_diff(str(document), opened.llmd.text, made.text)
        say(f"refreshed: {document} ({_command('undo', document)} takes it back)", err=True)

    _reporting(document, logger, work)


@llmd.command()
@_document
def undo(document: Path) -> None:
    """Take back what was applied last.

    Files and document are as before, byte for byte, but for what was written at the document's
    end since, which stays. Where something else has changed since, that is shown and nothing is
    done."""
    from ...llmd.journal import Journal
    from ...workflows.llmd.document import applied_last, undo

    logger = _Told()

    def work() -> None:
        root, applied = applied_last(document, logger)
        if applied is None:
            logger.error(f"{document}: nothing has been applied that could be taken back")
            return
        if changed := Journal(root).changed_since(applied):
            for path, then, now in changed:
                print_diff(path, _text(then), _text(now))
            logger.error(f"nothing was undone: changed since, as shown: {', '.join(path for path, _, _ in changed)}")
            return
        undo(root, applied)
        names = ", ".join(one.path for one in applied.changes)
        say(f"undone{f': entry {applied.entry}' if applied.entry else ''}: {names}", err=True)

    _reporting(document, logger, work)


# Shared


def _reporting(document: Path, logger: Told, work: Callable[[], None]) -> None:
    """Do some work; what cannot be done is told, and exits with 1."""
    try:
        work()
    except BrokenPipeError:  # `| head`
        logger.error("stopped: what is shown was not read to its end")
    except (OSError, MarkdownError) as error:
        tell(error, Path(error.filename) if isinstance(error, OSError) and error.filename else document, logger)
    leave(logger)


def _command(name: str, document: Path, *words: str) -> str:
    """A command to type."""
    return shlex.join(["lmm", "llmd", name, str(document), *words])


def _located(logger: Told, document: Path) -> LoggerBase:
    return LocatedLogger(logger, lambda line: (str(document), line))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
