"""The command `lmm asked`: report and use the questions recorded by `lmm serve`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from ....files.outputs import HTML, LINES_OF_JSON, write_output
from ....files.walk import shorten
from ....files.writing import is_stream
from ....logging import counted, one_line, put, say
from ....settings.models import Models
from ....study.asked.grouping import FEWEST, count_askers
from ....study.asked.page import AskedOverview, ShownGroup, asked_page, lead, make_overview
from ....study.asked.proposals import FileProposals, Proposals, decide, propose_in_files
from ....study.asked.recordings import Recordings, export_lines, recordings_path
from ...arguments import check_written, json_option, output_option, searched_project
from ...reports import ReportPrinter, exit_with_status, print_diff, print_json, warn, with_library

PAGE = (".lmm", "asked.html")  # in the project's folder
LISTED = 8  # groups
HOW_TO_RECORD = ' To record them, set `record = "questions"` under `[serve]` in config.toml.'


@click.group(invoke_without_command=True)
@output_option("-o", "--output", help="The page to write (.html); by default, .lmm/asked.html of the project.")
@click.option("--small-groups", is_flag=True, help="Also show what was asked in fewer than 3 conversations.")
@json_option
@click.pass_context
def asked(context: click.Context, output: Path | None, small_groups: bool, as_json: bool) -> None:
    """Show what students asked, and what the notes lack.

    Without a command, it writes a page for a browser, and prints its most important lines. lmm serve records
    questions if you set record in the section [serve] of config.toml."""
    if (command := context.invoked_subcommand) is not None:
        if output is not None or small_groups or as_json:
            raise click.UsageError(f"-o, --small-groups and --json do not go with {command}")
        return
    project = searched_project()
    page = output or project.root.joinpath(*PAGE)
    check_written(page, (), HTML, **({"within": project.root} if output is None else {}))
    turns = recordings_here().turns()
    if not turns and not as_json:
        _say_nothing_recorded()
        return
    fewest = 1 if small_groups else FEWEST
    overview = with_library(
        project, Models(warn=warn), lambda library: make_overview(project.root, library, turns, fewest)
    )
    if as_json:
        print_json(asdict(overview))
        return
    _print_overview(overview)
    _write_page(page, overview)


def _say_nothing_recorded() -> None:
    is_off = searched_project().serve.record == "off"
    say(f"No questions recorded yet.{HOW_TO_RECORD if is_off else ''}", err=True)


def _print_overview(overview: AskedOverview) -> None:
    say(lead(overview))
    _print_groups("What the notes did not answer", overview.failures)
    _print_groups("What was asked about", overview.subjects)
    if overview.small:
        groups = counted(overview.small, "small group")
        say(f"\n{groups} not shown (asked in fewer than {overview.fewest} conversations): --small-groups")


def _print_groups(title: str, groups: Sequence[ShownGroup]) -> None:
    if not groups:
        return
    say(f"\n{title}", style="bold")
    rows = [(group, one_line(group.name, 50)) for group in groups[:LISTED]]
    width = max(len(name) for _, name in rows)
    for group, name in rows:
        near = f"{group.nearest[0].place}  {group.nearest[0].title}" if group.nearest else ""
        say(f"{group.questions:>6}  {name:<{width}}  {one_line(near)}".rstrip())
    if len(groups) > LISTED:
        say(f"{len(groups) - LISTED:>6}  more")


def _write_page(page: Path, overview: AskedOverview) -> None:
    page.parent.mkdir(exist_ok=True)
    if page.parts[-2:] == PAGE:  # readable by the owner only, like the recordings
        os.close(os.open(page, os.O_CREAT | os.O_RDONLY, 0o600))
        page.chmod(page.stat().st_mode & 0o700)
    write_output(page, asked_page(overview).encode("utf-8"))
    if not is_stream(page):
        say(f"\n{shorten(page)}: the page, for a browser", err=True)


def recordings_here() -> Recordings:
    """Return the recordings of the working folder's project."""
    return Recordings(recordings_path(searched_project().root))


@asked.command("export")
@output_option("-o", "--output", help="The file to write (.jsonl); by default, standard output.")
def export_recordings(output: Path | None) -> None:
    """Print all recordings as lines of JSON, which lmm bench --questions reads."""
    if output is not None:
        check_written(output, (), LINES_OF_JSON)
    turns = recordings_here().turns()
    if not turns:
        _say_nothing_recorded()
    if output is None:
        put(export_lines(turns))
        return
    write_output(output, export_lines(turns).encode("utf-8"))
    say(f"written: {output} ({counted(len(turns), 'question')})", err=True)


@asked.command("delete")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete_recordings(yes: bool) -> None:
    """Delete all recordings for good."""
    recordings = recordings_here()
    if not yes and not click.confirm(f"Delete everything in {recordings.path} for good?", err=True):
        sys.exit(1)
    say(f"deleted: {counted(recordings.delete(), 'question')}", err=True)


@asked.command("forget")
@click.argument("words", nargs=-1, required=True, metavar="WORD…")
def forget_word(words: tuple[str, ...]) -> None:
    """Delete questions for good if WORD occurs in the question, its answer or its comment.

    Several words are searched for as a phrase. Case does not matter."""
    word = " ".join(words)
    count = recordings_here().forget(word)
    say(f"forgotten: {counted(count, 'question')} with {word!r}", err=True)


@asked.command("propose")
@click.option("--dry-run", is_flag=True, help="Show what would be written, as a diff, and write nothing.")
def propose_mends(dry_run: bool) -> None:
    """Write into the notes what students asked and did not find.

    Where the notes lack something, it writes a request for an edit (=:), which lmm chat answers and you decide with
    lmm accept or lmm reject. Where the notes have the answer, it adds the questions to the section that gives it."""
    logger = ReportPrinter()
    recordings = recordings_here()
    turns = recordings.turns()
    if not turns:
        _say_nothing_recorded()
        return
    project, before = searched_project(), recordings.proposed()
    proposals = with_library(project, Models(warn=warn), lambda library: decide(library, turns, before))
    written_to = None if dry_run else recordings
    for proposal in asyncio.run(propose_in_files(project, proposals.proposals, logger, written_to)):
        if dry_run:
            print_diff(str(shorten(proposal.file.path)), proposal.file.text, proposal.after)
        else:
            _say_proposed(proposal)
    _say_rest(proposals, dry_run)
    exit_with_status(logger)


def _say_proposed(proposal: FileProposals) -> None:
    name = shorten(proposal.file.path)
    if proposal.after == proposal.file.text:
        say(f"nothing new: {name}", err=True)
        return
    for group_proposal in proposal.proposals:
        askers = counted(count_askers(group_proposal.turns), "conversation")
        say(
            f"{name}: {group_proposal.what} (group {group_proposal.group}, {askers}): {group_proposal.asked[0]}",
            err=True,
        )
    edits = any(group_proposal.kind != "questions" for group_proposal in proposal.proposals)
    say(f"proposed: {name}{f'; next: lmm chat {name}' if edits else ''}", err=True)


def _say_rest(proposals: Proposals, dry_run: bool) -> None:
    for sentence in proposals.undecided:
        say(sentence, err=True)
    if proposals.before:
        say(f"proposed before: {counted(proposals.before, 'group')}", err=True)
    if proposals.small:
        say(f"asked in fewer than 3 conversations: {counted(proposals.small, 'group')}", err=True)
    if not proposals.proposals:
        say("nothing to propose", err=True)
    elif dry_run:
        say("nothing was written", err=True)
