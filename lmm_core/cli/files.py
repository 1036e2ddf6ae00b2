"""Process many documents concurrently and report the results."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

import click

from ..errors import MarkdownError
from ..logging import Report, say
from ..markdown.blocks import serialize_blocks
from ..markdown.files import MarkdownFile, read_markdown, write_markdown
from ..scan.documents.passes import Work, work_on, work_on_file
from ..scan.rag import Tally
from ..settings.models import Models
from ..settings.quarto_inputs import DocumentFinder
from .arguments import Writing, find_documents
from .reports import ReportPrinter, cost, print_diff, print_json, report_failure
from .session import is_done

WOULD = "would be "  # prefix with `--check` and `--diff`
FILES_AT_ONCE = 16
NO_TALLIES: Mapping[Path, Tally] = MappingProxyType({})


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
    tallies: Mapping[Path, Tally] = NO_TALLIES,
) -> None:
    """Process the blocks of all files, write each file when ready, and exit.

    done: participle for the report ("annotated")
    tallies: shown for changed files
    With `check`, the exit status is 1 if a file would change."""
    check, diff, as_json = writing.check, writing.diff, writing.as_json
    if as_json and diff:
        raise click.UsageError("--json and --diff exclude each other")

    async def rewrite_file(path: Path, logger: ReportPrinter) -> bool:
        file = read_markdown(path)
        text = serialize_blocks(await work_on_file(file, work, logger))
        if text != file.text and diff:
            print_diff(str(path), file.text, text)
        elif text != file.text and not check:
            write_markdown(path, text, file)
        return text != file.text

    verb = f"{WOULD}{done}" if check or diff else done
    outcomes = for_each(writing.paths, rewrite_file, verb, as_json, quiet, models, tallies, writing.finder)
    if check and any(outcome.changed for outcome in outcomes):
        sys.exit(1)
    exit_with_outcomes(outcomes)


def for_each(
    paths: tuple[Path, ...],
    work_on: Callable[[Path, ReportPrinter], Awaitable[bool]],
    verb: str,
    as_json: bool = False,
    quiet: bool = False,
    models: Models | None = None,
    tallies: Mapping[Path, Tally] = NO_TALLIES,
    finder: DocumentFinder | None = None,
) -> list[FileOutcome]:
    """Run `work_on` on all files concurrently, print the results, and close the models.

    work_on: returns True if it changed the file
    verb: see `rewrite`"""
    began, left_out = time.monotonic(), ReportPrinter(quiet)
    files = find_documents(paths, left_out, finder=finder)
    outcomes = asyncio.run(_work_on_all(files, work_on, quiet, models))
    if as_json:
        beside = [FileOutcome(report.path, reports=[report]) for report in left_out.reports]
        print_json([asdict(outcome) for outcome in (*beside, *outcomes)])
    elif not quiet:
        _print_outcomes(outcomes, verb, tallies, cost(models, began))
    return outcomes


def _print_outcomes(outcomes: Sequence[FileOutcome], verb: str, tallies: Mapping[Path, Tally], cost: str) -> None:
    changed = [(outcome.path, _describe_change(outcome, verb, tallies)) for outcome in outcomes if outcome.changed]
    for name, became in changed:
        say(f"{became}: {name}", err=True)
    sum_up, complete = sum(tallies.values(), Tally()), sum(became == verb for _, became in changed)
    say(f"{complete} of {len(outcomes)} files {verb}{sum_up.by_annotators}{cost}", err=True)
    if sum_up.left_out:
        say(sum_up.left_out, err=True)


def _describe_change(outcome: FileOutcome, verb: str, tallies: Mapping[Path, Tally]) -> str:
    tally = tallies.get(Path(outcome.path))
    if tally is None or (tally.written and not tally.failed):
        return verb
    if tally.written:
        return f"{verb} in part"
    return f"{WOULD}changed, not {verb.removeprefix(WOULD)}" if verb.startswith(WOULD) else f"changed, not {verb}"


async def _work_on_all(
    paths: list[Path], work_on: Callable[[Path, ReportPrinter], Awaitable[bool]], quiet: bool, models: Models | None
) -> list[FileOutcome]:
    places = asyncio.Semaphore(FILES_AT_ONCE)

    async def work(path: Path) -> FileOutcome:
        async with places:
            if models and models.stopped:
                return FileOutcome(str(path), reports=[Report("info", "skipped, because the model cannot be asked")])
            logger = ReportPrinter(quiet)
            changed = False
            try:
                changed = await work_on(path, logger)
            except (OSError, MarkdownError) as error:
                report_failure(error, path, logger)
            return FileOutcome(str(path), changed, logger.reports)

    try:
        return await asyncio.gather(*map(work, paths))
    finally:
        if models:
            await models.close()


async def write_worked(path: Path, work: Work, logger: ReportPrinter, written: dict[Path, bytes] | None = None) -> bool:
    """Process a file, and write it if it has changed. Return True if it has.

    written: receives the new content, before it is written"""
    file, blocks = await work_on(path, work, logger)
    text = serialize_blocks(blocks)
    if text != file.text:
        if written is not None:
            written[path] = text.encode("utf-8")
        write_markdown(path, text, file)
    return text != file.text


def work_on_saved(
    saved: Sequence[Path],
    work_on: Callable[[Path, ReportPrinter], Awaitable[bool]],
    done: str,
    quiet: bool,
    models: Models,
) -> bool:
    """Process saved files, and print what changed, with the time. Return False on failure.

    work_on: returns True if it changed the file
    done: participle for the report ("annotated")"""
    outcomes: list[FileOutcome] = []
    is_complete = is_done(lambda: outcomes.extend(for_each(tuple(saved), work_on, done, quiet=True, models=models)))
    printer = ReportPrinter()
    for outcome in [] if quiet else outcomes:
        for report in outcome.reports:
            if report.level == "warning":
                printer.report(report)
        if outcome.changed:
            say(f"{time.strftime('%H:%M:%S')} {done}: {outcome.path}", err=True)
    return is_complete


def exit_with_outcomes(outcomes: list[FileOutcome]) -> None:
    """Exit with 1 if an error was reported."""
    sys.exit(1 if any(report.level == "error" for outcome in outcomes for report in outcome.reports) else 0)
