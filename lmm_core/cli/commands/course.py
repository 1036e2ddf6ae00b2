"""The commands for course sites: set up a Quarto project, and look for leaks in what it renders."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ...errors import LmmError
from ...files.walk import RENDERED
from ...logging import counted, one_line, say
from ...markdown.files import project_root
from ...settings.project import Project, load_project
from ..arguments import config_checked, find_all_documents, json_option
from ..reports import ReportPrinter, exit_with_status, print_json, shorten

if TYPE_CHECKING:
    from ...quarto.check import ProjectFinding
    from ...quarto.leaks import Findings
    from ...quarto.options import AskBoxSettings

_folder = click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))


@click.command("leak-check")
@click.argument("output", type=click.Path(exists=True, path_type=Path))
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="[SOURCES…]")
@click.option(
    "--keep", multiple=True, metavar="TYPE", help="A type of material that may be in the output (exercise, …)."
)
@json_option
def leak_check(output: Path, sources: tuple[Path, ...], keep: tuple[str, ...], as_json: bool) -> None:
    """Search every file of a rendered site for text that is left out of the notes.

    SOURCES are the documents (default: those of the project that OUTPUT is in). The exit
    status is 1 if something was found."""
    from ...quarto.leaks import look_for_leaks
    from ...workflows.typos import report_typos

    logger = ReportPrinter()
    project = _project(sources[0] if sources else output, keep)
    files = find_all_documents(sources, logger, RENDERED) if sources else _inputs(project, output)
    if not files:
        raise click.UsageError(
            f"{output}: there are no documents outside of it: name the folder of the rendered site, or the documents "
            "after it"
        )
    report_typos(files, project.rules, logger)
    found = look_for_leaks(output, files, project, logger, ask=_ask(project))
    if as_json:
        print_json({**asdict(found), "leaks": [_as_text(asdict(leak)) for leak in found.leaks]})
    else:
        _print_leaks(found)
    if not found.files:
        logger.error(f"{output}: none of its files could be searched")
    if found.leaks:
        sys.exit(1)
    exit_with_status(logger)


def _print_leaks(found: Findings) -> None:
    for leak in found.leaks:
        say(one_line(f'{leak.place}: {leak.source}:{leak.line}: "{leak.text}…"'))
    files, parts = counted(found.files, "file"), counted(found.parts, "part")
    are = "is" if found.passed_over == 1 else "are"
    over = f" ({found.passed_over} more {are} too short to tell, or in the notes as well)" if found.passed_over else ""
    result = f"{len(found.leaks)} found" if found.leaks else "none found"
    say(f"looked in {files} for {parts} left out of the notes: {result}{over}", err=True)


def _as_text(leak: dict[str, object]) -> dict[str, object]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in leak.items()}


def _project(path: Path, keep: tuple[str, ...]) -> Project:
    """Return the project of a path, with the rules of its `_quarto.yml`. Raise UsageError."""
    from ...errors import QuartoError
    from ...settings.quarto_project import with_quarto_rules

    try:
        project: Project = with_quarto_rules(
            config_checked(lambda: load_project(path / "-" if path.is_dir() else path))
        )
    except QuartoError as error:
        raise click.UsageError(str(error)) from None
    return replace(project, rules=replace(project.rules, keep=project.rules.keep | set(keep)))


def _ask(project: Project) -> AskBoxSettings | None:
    from ...errors import QuartoError
    from ...quarto.options import read_ask

    try:
        return read_ask(project.root)
    except QuartoError as error:
        raise click.UsageError(str(error)) from None


def _inputs(project: Project, output: Path) -> list[Path]:
    """Return the documents of a project and the files they include, except those in the output."""
    from ...settings.quarto_inputs import find_inputs, with_included

    inputs = [path for path in find_inputs(project.root) if not path.resolve().is_relative_to(output.resolve())]
    found = with_included(inputs, project.root)
    return [shorten(path) for path in found]


@click.group()
def quarto() -> None:
    """Set up a Quarto project, and check whether it is set up."""


@quarto.command()
@_folder
@json_option
def check(folder: Path, as_json: bool) -> None:
    """Show what is set up in a Quarto project, and what is missing, as lines to paste."""
    from ...quarto.check import check_project

    folder = project_root(folder / "-") if folder.is_dir() else folder
    try:
        findings = check_project(folder)
    except LmmError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    sys.exit(0 if all(finding.ok for finding in findings) else 1)


@quarto.command()
@_folder
def init(folder: Path) -> None:
    """Set up a Quarto project: the extension, and a _quarto.yml if there is none.

    This asks nothing and overwrites nothing. It prints what is left to do."""
    from ...errors import QuartoError
    from ...quarto.setup import init_project

    try:
        findings = init_project(folder)
    except QuartoError as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    for finding in findings:
        if finding.ok:
            say(f"{finding.what}: {finding.found}")
    _print([finding for finding in findings if not finding.ok])


def _stop(message: str) -> NoReturn:
    say(message, err=True)
    sys.exit(1)


def _print(findings: list[ProjectFinding]) -> None:
    for finding in findings:
        say(f"{'ok' if finding.ok else '--'}  {finding.what:<12}{finding.found}")
        for line in finding.paste.splitlines():
            say(f"        {line}")


# What the scripts of the Quarto extension call


@quarto.command("pre-render")
def pre_render_command() -> None:
    """Before a render: refuse or convert native blocks, and annotate. Quarto calls it."""
    from ...quarto.render import pre_render

    sys.exit(pre_render(os.environ, _project_dir(), _script_logger()))


@quarto.command("post-render")
def post_render_command() -> None:
    """After a render: look for leaks, and refresh the index. Quarto calls it."""
    from ...quarto.render import post_render

    sys.exit(post_render(os.environ, _project_dir(), _script_logger()))


def _project_dir() -> Path:
    return Path(os.environ.get("QUARTO_PROJECT_DIR") or ".")


def _script_logger() -> ReportPrinter:
    return ReportPrinter(quiet=os.environ.get("QUARTO_PROJECT_SCRIPT_QUIET") == "1")
