"""The command `lmm asked`: what students asked, as `lmm serve` has recorded it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....asked.recordings import Recordings, recordings_path
from ....errors import MarkdownError, RecordingError
from ....files.outputs import HTML, LINES_OF_JSON, write_output
from ....files.writing import is_stream
from ....logging import counted, one_line, put, say
from ....workflows.models import Models
from ...arguments import check_written, json_option, output_option, searched_project
from ...diffs import print_diff
from ...reports import ReportPrinter, exit_with_status, print_json, report_failure, shorten, warn
from ...running import run, with_library

if TYPE_CHECKING:
    from ....asked.turns import RecordedTurn
    from ....retrieve.library import Library
    from ....workflows.asked.dashboard import Dashboard, GroupList
    from ....workflows.asked.decisions import Decision
    from ....workflows.asked.proposals import FileProposals, Proposals


PAGE = (".lmm", "asked.html")  # in the project's folder
LISTED = 8  # groups
NOTHING = "nothing is recorded: record in the section [serve] of config.toml says whether lmm serve does"


@click.group(invoke_without_command=True)
@output_option("-o", "--output", help="The page to write (.html); by default, .lmm/asked.html of the project.")
@click.option("--small-groups", is_flag=True, help="Show what was asked in fewer than 3 conversations, too.")
@json_option
@click.pass_context
def asked(context: click.Context, output: Path | None, small_groups: bool, as_json: bool) -> None:
    """Show what students asked, what the notes did not answer, and what nobody needed.

    Without a command, it writes a page for a browser and prints the most important lines. Questions are recorded
    by lmm serve, if record in the section [serve] of config.toml says so."""
    if context.invoked_subcommand is not None:
        if output is not None or small_groups or as_json:
            raise click.UsageError(f"-o, --small-groups and --json before {context.invoked_subcommand} mean nothing")
        return
    from ....workflows.asked.dashboard import FEWEST, make_dashboard

    project, logger = searched_project(), ReportPrinter()
    page = output or project.root.joinpath(*PAGE)
    check_written(page, (), HTML, **({} if output else {"within": project.root}))
    with opened_recordings() as recordings:
        turns = recordings.turns()
    if not turns and not as_json:
        say(NOTHING, err=True)
        return
    fewest = 1 if small_groups or project.serve.small_groups else FEWEST
    models = Models(warn=warn)

    async def work(library: Library) -> Dashboard:
        return await make_dashboard(project, library, turns, warn, fewest)

    dashboard = with_library(project, models, work, logger)
    if dashboard is None:
        sys.exit(1)
    if as_json:
        print_json(asdict(dashboard))
        return
    _print_dashboard(dashboard)
    _write_page(page, dashboard)


def _print_dashboard(dashboard: Dashboard) -> None:
    outcomes, count = dashboard.outcomes, dashboard.questions
    asked_in = f" in {counted(dashboard.conversations, 'conversation')}" if dashboard.conversations else ""
    say(f"{counted(count, 'question')}{asked_in}: ", nl=False)
    failed = outcomes["refused"] + outcomes["partly"]
    thumbs = counted(dashboard.thumbs_down, "thumb")
    say(f"{outcomes['answered'] / count:.0%} answered, {failed / count:.0%} not, {thumbs} down")
    _print_groups("What the notes did not answer", dashboard.failures)
    _print_groups("What was asked about", dashboard.subjects)
    if small := dashboard.failures.small + dashboard.subjects.small:
        groups = counted(small, "small group")
        say(f"\n{groups} not shown (asked in fewer than {dashboard.fewest} conversations): --small-groups")


def _print_groups(title: str, found: GroupList) -> None:
    if not found.groups:
        return
    say(f"\n{title}", style="bold")
    shown = [(group, one_line(group.name, 50)) for group in found.groups[:LISTED]]
    width = max(len(name) for _, name in shown)
    for group, name in shown:
        near = f"{group.nearest[0].place}  {group.nearest[0].title}" if group.nearest else ""
        say(f"{group.questions:>6}  {name:<{width}}  {one_line(near)}".rstrip())
    if more := len(found.groups) - len(shown) + found.more:
        say(f"{more:>6}  more")


def _write_page(page: Path, dashboard: Dashboard) -> None:
    from ....workflows.pages.asked_page import asked_page

    try:
        page.parent.mkdir(exist_ok=True)
        write_output(page, asked_page(dashboard).encode("utf-8"))
    except OSError as error:
        report_failure(error, page, ReportPrinter())
        sys.exit(1)
    if not is_stream(page):
        say(f"\n{shorten(page)}: the whole dashboard, for a browser", err=True)


@contextmanager
def opened_recordings() -> Iterator[Recordings]:
    """Open the recordings of the working folder's project, for the block.

    Its RecordingError ends the command with a message."""
    try:
        with closing(Recordings(recordings_path(searched_project().root))) as recordings:
            yield recordings
    except RecordingError as error:
        raise click.ClickException(str(error)) from None


@asked.command("export")
@output_option("-o", "--output", help="The file to write (.jsonl); by default, standard output.")
def export_recordings(output: Path | None) -> None:
    """Print all recordings as lines of JSON, which lmm bench --questions reads."""
    from ....asked.exports import export_lines

    if output is not None:
        check_written(output, (), LINES_OF_JSON)
    with opened_recordings() as recordings:
        turns = recordings.turns()
    if not turns:
        say(NOTHING, err=True)
    if output is None:
        put(export_lines(turns))
        return
    try:
        write_output(output, export_lines(turns).encode("utf-8"))
    except OSError as error:
        report_failure(error, output, ReportPrinter())
        sys.exit(1)
    say(f"written: {output} ({counted(len(turns), 'question')})", err=True)


@asked.command("delete")
@click.option("--yes", is_flag=True, help="Do not ask first.")
def delete_recordings(yes: bool) -> None:
    """Delete all recordings for good."""
    with opened_recordings() as recordings:
        if not yes and not click.confirm(f"Delete everything in {recordings.path} for good?", err=True):
            sys.exit(1)
        count = recordings.delete()
    say(f"deleted: {counted(count, 'question')}", err=True)


@asked.command("forget")
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
def forget_word(words: tuple[str, ...]) -> None:
    """Delete for good each question with its answer and comment in which WORD occurs.

    Several words are looked for as they stand, one after the other. Case does not matter."""
    word = " ".join(words)
    with opened_recordings() as recordings:
        count = recordings.forget(word)
    say(f"forgotten: {counted(count, 'question')} with {word!r}", err=True)


@asked.command("propose")
@click.option("--group", "numbers", type=click.IntRange(1), multiple=True, metavar="N",
              help="Only this group, however small (repeatable): its number among those not answered.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be written, as a diff, and write nothing.")
def propose_mends(numbers: tuple[int, ...], dry_run: bool) -> None:
    """Write into the notes what students asked and did not find.

    Where the notes lack something, that is a request for an edit (=:), which lmm edit answers and lmm accept or
    lmm reject decides. Where they only were not found, it is questions for the section that answers them."""
    logger = ReportPrinter()
    with opened_recordings() as recordings:
        turns, before = recordings.turns(), recordings.proposed()
        if not turns:
            say(NOTHING, err=True)
            return
        found = _decide(turns, before, numbers, logger)
        if found is None:
            sys.exit(1)
        for proposal in _propose(found.decisions, logger):
            if dry_run:
                print_diff(str(shorten(proposal.file.path)), proposal.file.text, proposal.after)
            elif _is_saved(proposal, logger):
                recordings.mark_proposed(turn.id for one in proposal.decisions for turn in one.turns)
                _say_proposed(proposal)
    _say_rest(found, dry_run)
    exit_with_status(logger)


def _decide(
    turns: Sequence[RecordedTurn], before: frozenset[str], numbers: Sequence[int], logger: ReportPrinter
) -> Proposals | None:
    """Return what is to be proposed, None if the index cannot be searched, which is reported."""
    from ....workflows.asked.dashboard import FEWEST
    from ....workflows.asked.proposals import decide_failures

    project = searched_project()

    async def work(library: Library) -> Proposals:
        return await decide_failures(library, turns, before, warn, FEWEST, numbers)

    found = with_library(project, Models(warn=warn), work, logger)
    if found is not None and (unknown := [number for number in numbers if number > found.groups]):
        raise click.UsageError(f"there is no group {unknown[0]}: the questions not answered are in {found.groups}")
    return found


def _propose(decisions: Sequence[Decision], logger: ReportPrinter) -> list[FileProposals]:
    from ....workflows.asked.proposals import propose_in_files

    return run(propose_in_files(searched_project(), decisions, logger)) if decisions else []


def _is_saved(proposal: FileProposals, logger: ReportPrinter) -> bool:
    try:
        proposal.save()
    except (OSError, MarkdownError) as error:
        report_failure(error, proposal.file.path, logger)
        return False
    return True


def _say_proposed(proposal: FileProposals) -> None:
    """Say what was proposed in a file, and what comes next."""
    name = shorten(proposal.file.path)
    if proposal.after == proposal.file.text:
        say(f"nothing new: {name}", err=True)
        return
    for one in proposal.decisions:
        groups = ", ".join(map(str, one.groups))
        say(f"{name}: {one.what} (group {groups}, {counted(one.conversations, 'conversation')}): {one.name}", err=True)
    edits = any(one.kind != "questions" for one in proposal.decisions)
    say(f"proposed: {name}{f'; next: lmm edit {name}' if edits else ''}", err=True)


def _say_rest(found: Proposals, dry_run: bool) -> None:
    """Say of which groups nothing is proposed."""
    for one in found.undecided:
        say(f"group {one.group}, nothing proposed: {one.name}: {one.why}", err=True)
    if found.before:
        say(f"proposed before: {counted(found.before, 'group')}", err=True)
    if found.small:
        say(
            f"asked in fewer than 3 conversations: {counted(found.small, 'group')}; --group N for one of them", err=True
        )
    if not found.decisions:
        say("nothing to propose", err=True)
    elif dry_run:
        say("nothing was written", err=True)
