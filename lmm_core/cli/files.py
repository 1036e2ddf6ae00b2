"""Process many documents concurrently and report the results."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from ..errors import ConfigError, MarkdownError
from ..logging import Report, say
from ..markdown.blocks import serialize_blocks
from ..markdown.files import MarkdownFile
from ..models.chat import then_close
from ..scan.documents.passes import Work, replace_text, rewrite_file, work_on
from ..scan.rag import Tally
from ..settings.models import Models
from ..settings.quarto_inputs import DocumentFinder
from .arguments import Writing, find_documents
from .reports import ReportPrinter, cost, print_diff, print_json, report_failure

WOULD = "would be "  # prefix with `--check` and `--diff`
FILES_AT_ONCE = 16


@dataclass(frozen=True)
class FileWork:
    """Work on each of many files.

    on_file: returns True if it changed the file
    done: participle for the report ("annotated")
    models: closed at the end"""

    on_file: Callable[[Path, ReportPrinter], Awaitable[bool]]
    done: str
    models: Models | None = None
    tallies: Mapping[Path, Tally] | None = None


@dataclass
class FileOutcome:
    """Result for a file."""

    path: str
    changed: bool = False
    reports: list[Report] = field(default_factory=list)


async def work_file(path: Path, work: Work, logger: ReportPrinter) -> tuple[MarkdownFile, str] | None:
    """Return a file and its processed text, or None after a reported failure."""
    try:
        file, blocks = await work_on(path, work, logger)
    except (OSError, MarkdownError) as error:
        report_failure(error, path, logger)
        return None
    return file, serialize_blocks(blocks)


def rewrite(
    writing: Writing,
    work: Work,
    done: str,
    quiet: bool = False,
    models: Models | None = None,
    tallies: Mapping[Path, Tally] | None = None,
) -> None:
    """Process the blocks of all files, write each file when ready, and exit; see `FileWork`.

    With `check`, the exit status is 1 if a file would change."""
    check, diff, as_json = writing.check, writing.diff, writing.as_json
    if as_json and diff:
        raise click.UsageError("--json and --diff exclude each other")

    def write(file: MarkdownFile, text: str) -> None:
        if diff:
            print_diff(str(file.path), file.text, text)
        elif not check:
            replace_text(file, text)

    async def on_file(path: Path, logger: ReportPrinter) -> bool:
        return await rewrite_file(path, work, logger, write)

    file_work = FileWork(on_file, f"{WOULD}{done}" if check or diff else done, models, tallies)
    outcomes = for_each(writing.paths, file_work, writing.finder, as_json=as_json, quiet=quiet)
    if check and any(outcome.changed for outcome in outcomes):
        sys.exit(1)
    exit_with_outcomes(outcomes)


def for_each(
    paths: tuple[Path, ...],
    work: FileWork,
    finder: DocumentFinder | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
) -> list[FileOutcome]:
    """Work on all files concurrently, print the results, and close the models."""
    began, left_out = time.monotonic(), ReportPrinter(quiet)
    files = find_documents(paths, left_out, finder=finder)
    outcomes = asyncio.run(_work_on_all(files, work, quiet))
    if as_json:
        beside = [FileOutcome(report.path, reports=[report]) for report in left_out.reports]
        print_json([asdict(outcome) for outcome in (*beside, *outcomes)])
    elif not quiet:
        _print_outcomes(outcomes, work, cost(work.models, began))
    return outcomes


def _print_outcomes(outcomes: Sequence[FileOutcome], work: FileWork, cost: str) -> None:
    changed = [(outcome.path, _describe_change(outcome, work)) for outcome in outcomes if outcome.changed]
    for name, became in changed:
        say(f"{became}: {name}", err=True)
    sum_up = sum((work.tallies or {}).values(), Tally())
    complete = sum(became == work.done for _, became in changed)
    say(f"{complete} of {len(outcomes)} files {work.done}{sum_up.by_annotators}{cost}", err=True)
    if sum_up.left_out:
        say(sum_up.left_out, err=True)


def _describe_change(outcome: FileOutcome, work: FileWork) -> str:
    tally, verb = (work.tallies or {}).get(Path(outcome.path)), work.done
    if tally is None or (tally.written and not tally.failed):
        return verb
    if tally.written:
        return f"{verb} in part"
    return f"{WOULD}changed, not {verb.removeprefix(WOULD)}" if verb.startswith(WOULD) else f"changed, not {verb}"


async def _work_on_all(paths: list[Path], work: FileWork, quiet: bool) -> list[FileOutcome]:
    places = asyncio.Semaphore(FILES_AT_ONCE)

    async def outcome_of(path: Path) -> FileOutcome:
        async with places:
            if work.models and work.models.stopped:
                return FileOutcome(str(path), reports=[Report("info", "skipped, because the model cannot be asked")])
            logger = ReportPrinter(quiet)
            changed = False
            try:
                changed = await work.on_file(path, logger)
            except (OSError, MarkdownError) as error:
                report_failure(error, path, logger)
            return FileOutcome(str(path), changed, logger.reports)

    return await then_close(asyncio.gather(*map(outcome_of, paths)), *filter(None, [work.models]))


def work_on_saved(saved: Sequence[Path], work: FileWork, quiet: bool) -> bool:
    """Work on saved files, and print changes with the time. Return False on failure."""
    try:
        outcomes = for_each(tuple(saved), work, quiet=True)
    except (click.UsageError, ConfigError) as error:  # a half-typed configuration, or a file being replaced
        say(str(error), err=True)
        return False
    printer = ReportPrinter()
    for outcome in [] if quiet else outcomes:
        for report in outcome.reports:
            if report.level == "warning":
                printer.report(report)
        if outcome.changed:
            say(f"{time.strftime('%H:%M:%S')} {work.done}: {outcome.path}", err=True)
    return True


def exit_with_outcomes(outcomes: list[FileOutcome]) -> None:
    """Exit with 1 if an error was reported."""
    sys.exit(1 if any(report.level == "error" for outcome in outcomes for report in outcome.reports) else 0)
