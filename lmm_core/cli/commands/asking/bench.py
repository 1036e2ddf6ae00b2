"""The command `lmm bench`: measure retrieval by section and encoding."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ....errors import QuestionsError
from ....files.walk import shorten
from ....indexing.encoding import EncodingModel
from ....indexing.passages import Section
from ....logging import counted, say
from ....models.chat import then_close
from ....retrieve.plain_text import titles_path
from ....settings.models import Models
from ....settings.project import Project
from ....settings.quarto_inputs import DocumentFinder
from ....study.bench import (
    DEPTH,
    FOUND,
    Bench,
    BenchReport,
    EncodingResult,
    QuestionResult,
    by_section,
    mean_reciprocal_rank,
    measures,
)
from ...arguments import find_documents, folders_argument, json_option, project_at, usage_errors
from ...reports import ProgressBar, ReportPrinter, exit_with_status, print_json, warn

SECTIONS_SHOWN = 10
ENCODINGS = [str(kind) for kind in EncodingModel if kind is not EncodingModel.NONE]


@click.command()
@folders_argument
@click.option("--encoding", "encodings", multiple=True, type=click.Choice(ENCODINGS), metavar="NAME",
              help="An encoding to measure; may be repeated (default: the configured one).")  # fmt: skip
@click.option("--questions", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Students' questions (.csv, .jsonl).")  # fmt: skip
@click.option("--min-hit5", type=click.FloatRange(0, 1), metavar="X", help="Exit with 1 if hit@5 is below X (0 to 1).")
@json_option
def bench(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    encodings: tuple[str, ...],
    questions: Path | None,
    min_hit5: float | None,
    as_json: bool,
) -> None:
    """Measure which sections students cannot find. Their annotated questions are the test."""
    logger = ReportPrinter()
    files = find_documents(paths, logger, finder=finder)
    project = project_at(files[0] if files else paths[0] / "-")
    report = _measure(files, project, encodings, questions, logger)
    if report.unlabelled:
        warn(f"{questions}: {counted(report.unlabelled, 'question')} without a section left out")
    if as_json:
        print_json(_report_as_json(report))
    else:
        _print_report(report, project)
    _check_least(report, min_hit5, logger)
    exit_with_status(logger)


def _measure(
    files: list[Path], project: Project, encodings: Sequence[str], questions: Path | None, logger: ReportPrinter
) -> BenchReport:
    models = Models(warn=warn)

    async def work() -> BenchReport:
        with ProgressBar() as bar:
            job = Bench(project, models, encodings, logger, bar)
            return await job.run(files, questions)

    with usage_errors(QuestionsError):
        return asyncio.run(then_close(work(), models))


def _check_least(report: BenchReport, least: float | None, logger: ReportPrinter) -> None:
    first = report.results[0]
    reached = measures(first.outcomes)["hit@5"]
    if least is not None and not reached >= least:  # `not >=` also catches nan
        logger.error(f"hit@5 of {first.encoding} is {reached:.3f}, below {least:g}")


# Text output


def _print_report(report: BenchReport, project: Project) -> None:
    first = report.results[0]
    rows = [row for result in report.results for row in _rows(result)]
    width = max(len(name) for name, _ in rows)
    share_title = f"in {report.budget:,} tokens"
    say(f"{counted(len(first.outcomes), 'question')}\n")
    say(f"{'':<{width}}  hit@1  hit@5  {share_title}  refused")
    for name, outcomes in rows:
        say(f"{name:<{width}}  {_figures(outcomes, len(share_title))}")
    _print_sections(first, project)


def _rows(result: EncodingResult) -> list[tuple[str, Sequence[QuestionResult]]]:
    parts = result.by_origin().items()
    return [(result.name, result.outcomes), *((f"  {len(part)} {origin}", part) for origin, part in parts)]


def _figures(outcomes: Sequence[QuestionResult], width: int) -> str:
    shares = measures(outcomes)
    return f"{shares['hit@1']:.3f}  {shares['hit@5']:.3f}  {shares['shown']:>{width}.3f}  {shares['refused']:>7.3f}"


def _print_sections(result: EncodingResult, project: Project) -> None:
    sections = by_section(result.outcomes)
    hard = [(section, outcomes) for section, outcomes in sections if any(outcome.is_missed for outcome in outcomes)]
    if not hard:
        say(f"\nAll sections are among the first {FOUND} hits of their questions.")
        return
    say(
        f"\n{len(hard)} of {counted(len(sections), 'section')} not among the first {FOUND} hits of a question "
        f"({result.encoding}), the worst first:"
    )
    for section, outcomes in hard[:SECTIONS_SHOWN]:
        _print_section(section, [outcome for outcome in outcomes if outcome.is_missed], project)
    if len(hard) > SECTIONS_SHOWN:
        say(f"\n{len(hard) - SECTIONS_SHOWN} more: --json")


def _print_section(section: Section, missed: Sequence[QuestionResult], project: Project) -> None:
    say(f"\n{shorten(project.root / section.source)}:{section.line_start}  ", nl=False)
    say(titles_path(section.titles), style="bold")
    for result in missed:
        origin = f" ({result.labelled.place})" if result.labelled.place else ""
        say(f"    {result.labelled.question}{origin}")
        place = f"not among {DEPTH} hits" if result.rank is None else f"hit {result.rank}"
        if result.first is not None:
            first = f"{shorten(project.root / result.first.source)}:{result.first.line_start}"
            place += f"; first is {first}  {titles_path(result.first.titles)}"
        say(f"      {place}")


# JSON output


def _report_as_json(report: BenchReport) -> dict[str, Any]:
    return {
        "embedded": list(report.annotations),
        "budget": report.budget,
        "unlabelled": report.unlabelled,
        "encodings": [_result_as_json(result) for result in report.results],
    }


def _result_as_json(result: EncodingResult) -> dict[str, Any]:
    return {
        "encoding": result.encoding,
        "embedding": result.embedding,
        **_measures(result.outcomes),
        "origins": {origin: _measures(outcomes) for origin, outcomes in result.by_origin().items()},
        "sections": [_section_as_json(section, outcomes) for section, outcomes in by_section(result.outcomes)],
    }


def _measures(outcomes: Sequence[QuestionResult]) -> dict[str, float]:
    shares = measures(outcomes) | {"mrr": mean_reciprocal_rank(outcomes)}
    return {"questions": len(outcomes), **{name: round(share, 4) for name, share in shares.items()}}


def _section_as_json(section: Section, outcomes: Sequence[QuestionResult]) -> dict[str, Any]:
    questions = [
        {
            "question": outcome.labelled.question,
            "origin": outcome.labelled.origin,
            "place": outcome.labelled.place,
            "rank": outcome.rank,
            "shown": outcome.is_shown,
            "refused": outcome.is_refused,
            "first": outcome.first
            and {"place": outcome.first.place, "titles": outcome.first.titles, "text": outcome.first.text},
        }
        for outcome in outcomes
    ]
    place = {"place": section.place, "anchor": section.anchor, "titles": section.titles}
    return {**place, **_measures(outcomes), "asked": questions}
