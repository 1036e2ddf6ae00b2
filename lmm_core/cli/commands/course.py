"""The commands for courses and their sites, and the leak check."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import LmmError
from ...files.walk import RENDERED, shorten
from ...logging import counted, one_line, say
from ...settings.project import Project, load_project
from ...settings.quarto_inputs import find_inputs, with_included
from ...settings.quarto_project import with_quarto
from ..arguments import find_all_documents, json_option, usage_errors
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, warn

if TYPE_CHECKING:
    from ...course.create import CoursePart
    from ...course.run import Course, StepResult
    from ...quarto.leaks import Findings

_STEPS = ("check", "annotate", "render", "leaks", "index", "site")  # as in lmm_core.course.run, which is imported later
_folder = click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))


@click.command()
@_folder
@click.option(
    "--quarto/--no-quarto",
    default=None,
    help="Render with Quarto or with pandoc alone (default: Quarto if it is installed or has a project there).",
)
@click.option("--vscode", is_flag=True, help="Also write tasks and snippets for VS Code.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would be written.")
@json_option
def init(folder: Path, quarto: bool | None, vscode: bool, dry_run: bool, as_json: bool) -> None:
    """Turn a folder of notes into a course, or start a new one.

    Existing files stay as they are; lines that they may lack are printed for you to paste."""
    from ...course.create import create_course

    parts = create_course(folder, quarto, vscode, dry_run)
    if as_json:
        print_json([asdict(part) for part in parts])
    else:
        _print_parts(parts, dry_run)
        _print_next(folder, parts)


def _print_parts(parts: Sequence[CoursePart], dry_run: bool) -> None:
    for part in parts:
        if part.state == "lacks":
            say(f"--  {part.path}: {part.note}")
            for line in part.paste.splitlines():
                say(f"        {line}".rstrip())
        else:
            say(f"{'would be ' if dry_run and part.state == 'written' else ''}{part.state}: {part.path}")


def _print_next(folder: Path, parts: Sequence[CoursePart]) -> None:
    from ...course.create import WHEELS, repository_of
    from ...installation import ADDRESS, PACKAGE

    place = "" if folder == Path() else f" {shlex.quote(str(folder))}"
    has_workflow = any("workflows" in part.path and part.state != "lacks" for part in parts)
    if has_workflow and not ADDRESS and not any((folder / WHEELS).glob("*.whl")):
        say(
            f"The workflow installs {PACKAGE}, which is in no package registry yet. Put its wheel beside "
            f"requirements.txt: pip wheel --no-deps -w {WHEELS} CHECKOUT"
        )
    say("Next:")
    say(f"    lmm course{place}    # check, render, look for leaks, index")
    if repository_of(folder) is None:
        say(f"    git init{place}      # hooks and publishing need a git repository")
    elif has_workflow:
        say("    git push      # after a commit: the workflow publishes the site")


@click.command()
@_folder
@click.option("--output", type=click.Path(path_type=Path), metavar="FOLDER", help="The folder to publish the site in.")
@click.option("--steps", metavar="STEPS", help=f"Only these steps, separated by commas: {','.join(_STEPS)}.")
@click.option("--no-quarto", is_flag=True, help="Render with pandoc alone, which runs no code.")
@json_option
def course(folder: Path, output: Path | None, steps: str | None, no_quarto: bool, as_json: bool) -> None:
    """Make the site and the index of a course.

    Steps: check the notes, annotate them (only if `_quarto.yml` or --steps says so), render with Quarto or pandoc,
    search the site for leaks, refresh the index, replace the published site. It stops at the first step that fails;
    the published folder is replaced only after all steps have succeeded."""
    from ...course.run import open_course

    logger = ReportPrinter()
    chosen = _chosen_steps(steps)
    if not folder.is_dir():
        raise click.UsageError(f"{folder}: no such folder")
    with usage_errors(LmmError):
        opened = open_course(folder, output, logger, use_quarto=not no_quarto)
    opened.progress = ProgressBar("pages", quiet=as_json)
    opened.annotate = steps is not None and "annotate" in chosen
    results = _run_steps(opened, chosen)
    if as_json:
        print_json([asdict(result) for result in results])
    elif results and results[-1].ok and results[-1].step == "site":
        say(f"To look at the site, open {shorten(opened.workshop.published / 'index.html')}", err=True)
    sys.exit(0 if all(result.ok for result in results) else 1)


def _run_steps(opened: Course, chosen: Sequence[str]) -> list[StepResult]:
    """Run and print steps. Without a config.toml, `_quarto.yml` or `.git`, the index is in the working folder."""
    from ...course.run import run_steps

    results = []
    with chdir(opened.folder):
        for result in run_steps(opened, chosen, lambda name: say(f"{name}:", err=True)):
            results.append(result)
            _print_step(result)
    return results


def _chosen_steps(option: str | None) -> list[str]:
    """Return the steps to run. Raise UsageError for unknown ones, or `site` without render and leaks."""
    if option is None:
        return [*_STEPS]
    steps = option.replace(",", " ").split()
    if unknown := [step for step in steps if step not in _STEPS]:
        raise click.UsageError(f"--steps: there is no step {unknown[0]} (there are {', '.join(_STEPS)})")
    if "site" in steps and not {"render", "leaks"} <= set(steps):
        raise click.UsageError("--steps: the step site needs the steps render and leaks before it")
    return steps


def _print_step(result: StepResult) -> None:
    if result.skipped:
        say(f"  skipped ({result.summary})", err=True)
        return
    remark = f": {result.summary}" if result.summary else ""
    say(f"  {'done' if result.ok else 'failed'} in {result.seconds:.1f} s{remark}", err=True)


@click.command("leak-check")
@click.argument("output", type=click.Path(exists=True, path_type=Path))
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="[SOURCES…]")
@click.option(
    "--keep", multiple=True, metavar="TYPE", help="A type of material that may appear in the output (exercise, …)."
)
@json_option
def leak_check(output: Path, sources: tuple[Path, ...], keep: tuple[str, ...], as_json: bool) -> None:
    """Search a rendered site for text left out of the notes.

    SOURCES are the documents (default: those of the project that OUTPUT is in). The exit
    status is 1 if something was found."""
    from ...quarto.leaks import SiteSources, look_for_leaks
    from ...quarto.options import read_ask
    from ...scan.check.mistakes import report_typos

    logger = ReportPrinter()
    project = _project(sources[0] if sources else output, keep)
    files = find_all_documents(sources, logger, RENDERED) if sources else _inputs(project, output)
    if not files:
        raise click.UsageError(
            f"{output}: no documents were found outside it. Name the folder of the rendered site, or the documents "
            "after it"
        )
    report_typos(files, project.rules, logger)
    findings = look_for_leaks(output, SiteSources(files), project, logger, read_ask(project.root))
    if as_json:
        print_json({**asdict(findings), "leaks": [_as_text(asdict(leak)) for leak in findings.leaks]})
    else:
        _print_leaks(findings)
    if not findings.files:
        logger.error(f"{output}: none of its files could be searched")
    if findings.leaks:
        sys.exit(1)
    exit_with_status(logger)


def _print_leaks(findings: Findings) -> None:
    for leak in findings.leaks:
        say(one_line(f'{leak.place}: {leak.source}:{leak.line}: "{leak.text}…"'))
    files, parts = counted(findings.files, "file"), counted(findings.parts, "part")
    sought = f" for {parts} left out of the notes" if findings.parts or findings.passed_over else ""
    say(f"looked in {files}{sought}: {findings.result}", err=True)
    if findings.doubt:
        say(findings.doubt, err=True)


def _as_text(leak: dict[str, object]) -> dict[str, object]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in leak.items()}


def _project(path: Path, keep: tuple[str, ...]) -> Project:
    project = with_quarto(load_project(path / "-" if path.is_dir() else path))
    return replace(project, rules=replace(project.rules, keep=project.rules.keep | set(keep)))


def _inputs(project: Project, output: Path) -> list[Path]:
    inputs = [path for path in find_inputs(project.root) if not path.resolve().is_relative_to(output.resolve())]
    documents = with_included(inputs, project.root)
    return [shorten(path) for path in documents]


# Called by the scripts of the Quarto extension


@click.command(hidden=True)
@click.argument("stage", type=click.Choice(["pre-render", "post-render"]))
def quarto(stage: str) -> None:
    """Run the steps of the Quarto extension before and after a render.

    Before it, native blocks are refused, and documents annotated. After it, the site is searched for leaks, and the
    index refreshed."""
    from ...quarto.render import run_script

    sys.exit(run_script(stage))


# The sample course


@click.command()
@click.argument("folder", default="demo", type=click.Path(path_type=Path))
@click.option("--copy", "only_copy", is_flag=True, help="Copy the course, and do nothing else.")
@click.option("--remove", is_flag=True, help="Remove the copy.")
def demo(folder: Path, only_copy: bool, remove: bool) -> None:
    """Make the sample course, with its site and index.

    FOLDER must be new or empty, or contain an earlier copy, which is replaced."""
    from ...course.create import copy_sample, remove_sample

    if only_copy and remove:
        raise click.UsageError("--copy and --remove exclude each other")
    remove_sample(folder) if remove else copy_sample(folder)
    if only_copy:
        say(f"{folder}: a copy of the sample course")
    elif not remove:
        _make_demo(folder)


def _make_demo(folder: Path) -> None:
    from ...course.create import chapters, sample_course
    from ...course.run import open_course

    files, place = chapters(folder), shlex.quote(str(folder))
    say(f"Annotate (lmm rag {place}):", err=True)
    _annotate(files)
    say(f"Make the site and the index (lmm course {place}):", err=True)
    opened = open_course(folder, None, ReportPrinter(), use_quarto=shutil.which("quarto") is not None)
    if not all(result.ok for result in _run_steps(opened, [step for step in _STEPS if step != "annotate"])):
        sys.exit(1)
    chapter = files[0]
    original, copy = (shlex.quote(str(path)) for path in (sample_course() / chapter.name, chapter))
    say(f"""
The site, with a box to search and study in:   {folder / opened.workshop.published.name / "index.html"}
What changed in a chapter's text:              git diff --no-index {original} {copy}
An overview of it, with its exercises:         lmm scan {copy}
A question to the index:                       cd {place} && lmm ask "What is a residual?\"""")


def _annotate(files: Sequence[Path]) -> None:
    from ...scan.documents.passes import RagWork, rewrite_file
    from ...settings.models import Models
    from ..files import FileWork, for_each

    async def annotate(path: Path, logger: ReportPrinter) -> bool:
        return await rewrite_file(path, work.finish, logger)

    work = RagWork(Models("", None, warn))
    for_each(tuple(files), FileWork(annotate, "annotated", work.models, work.tallies))
