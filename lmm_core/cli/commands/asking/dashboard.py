"""Print the teacher's dashboard, and write its page."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ....files.outputs import HTML, write_output
from ....files.writing import is_stream
from ....logging import counted, one_line, say
from ....workflows.models import Models
from ...arguments import check_written
from ...reports import ReportPrinter, print_json, report_failure, shorten, warn
from ...running import with_library

if TYPE_CHECKING:
    from ....asked.turns import RecordedTurn
    from ....retrieve.library import Library
    from ....settings.project import Project
    from ....workflows.asked.dashboard import Dashboard, GroupList

PAGE = (".lmm", "asked.html")  # in the project's folder
LISTED = 8  # groups


def check_page(project: Project, output: Path | None) -> Path:
    """Return the page to write: the one that is named, or that of the project. Raise UsageError if it may not be."""
    if output is not None:
        check_written(output, (), HTML)
        return output
    page = project.root.joinpath(*PAGE)
    check_written(page, (), HTML, within=project.root)
    return page


def make_dashboard(project: Project, turns: list[RecordedTurn], small_groups: bool) -> Dashboard:
    """Return the dashboard of some turns; a failure, which is reported, ends the program.

    small_groups: show groups that were asked in few conversations, too."""
    from ....workflows.asked import dashboard

    fewest = 1 if small_groups or project.serve.small_groups else dashboard.FEWEST

    async def work(library: Library) -> Dashboard:
        return await dashboard.make_dashboard(project, library, turns, warn, fewest)

    made = with_library(project, Models(warn=warn), work, ReportPrinter())
    if made is None:
        sys.exit(1)
    return made


def print_as_json(dashboard: Dashboard) -> None:
    """Print the dashboard for programs."""
    print_json(asdict(dashboard))


def print_dashboard(dashboard: Dashboard) -> None:
    """Print the most important lines."""
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


def write_page(page: Path, dashboard: Dashboard) -> None:
    """Write the page; a failure ends the program with a message."""
    from ....workflows.pages.asked_page import asked_page

    try:
        page.parent.mkdir(exist_ok=True)
        if page.parts[-2:] == PAGE:
            _make_private(page)
        write_output(page, asked_page(dashboard).encode("utf-8"))
    except OSError as error:
        report_failure(error, page, ReportPrinter())
        sys.exit(1)
    if not is_stream(page):
        say(f"\n{shorten(page)}: the whole dashboard, for a browser", err=True)


def _make_private(page: Path) -> None:
    """Let only the person whose project it is read the page, as the recordings, from its first byte on."""
    os.close(os.open(page, os.O_CREAT | os.O_RDONLY, 0o600))
    page.chmod(page.stat().st_mode & 0o700)
