"""The command `lmm bench`: measure which sections cannot be found."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...files.outputs import HTML, write_output
from ...index.encoding import EncodingModel
from ...logging import counted, say
from ...settings.project import Project
from ...workflows.models import Models
from ..arguments import check_written, find_documents, json_option, output_option, paths_argument, project_at
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, report_failure, shorten, warn
from ..running import run_or_report

if TYPE_CHECKING:
    from ...retrieve.passages import Section
    from ...study.measures import QuestionResult
    from ...workflows.bench import BenchReport, EncodingResult

SECTIONS_SHOWN = 10
ENCODINGS = tuple(str(kind) for kind in EncodingModel if kind is not EncodingModel.NONE)


@click.command()
@paths_argument
@click.option("--encoding", "encodings", multiple=True, type=click.Choice(ENCODINGS), metavar="NAME",
              help="An encoding to measure; may be repeated (default: the configured one, and bm25).")  # fmt: skip
@click.option("--with-questions", is_flag=True, help="Embed the annotated questions, too.")
@click.option("--questions", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Students' questions with their sections (.csv, .jsonl).")  # fmt: skip
@click.option("--min-hit5", type=click.FloatRange(0, 1), metavar="X", help="Exit with 1 if hit@5 is below X (0 to 1).")
@output_option("--html", "html", help="Write a page to look at.")
@json_option
def bench(
    paths: tuple[Path, ...],
    encodings: tuple[str, ...],
    with_questions: bool,
    questions: Path | None,
    min_hit5: float | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Measure which sections students cannot find. Their annotated questions are the test."""
    logger = ReportPrinter()
    files = find_documents(paths, logger)
    if html is not None:
        check_written(html, [*files, *([questions] if questions else [])], HTML)
    project = project_at(files[0] if files else paths[0] / "-")
    report = _measure(files, project, encodings, with_questions, questions, logger)
    if report is None:
        sys.exit(1)
    if report.unlabelled:
        warn(f"{questions}: {counted(report.unlabelled, 'question')} without a section left out")
    if html is not None:
        _write_page(html, report, logger)
    if as_json:
        print_json(_report_as_json(report))
    else:
        _print_report(report, project)
    _check_least(report, min_hit5, logger)
    exit_with_status(logger)


def _measure(
    files: list[Path], project: Project, encodings: Sequence[str], with_questions: bool, questions: Path | None,
    logger: ReportPrinter,
) -> BenchReport | None:  # fmt: skip
    """Return what was measured, or None if nothing could be, which is reported.

    Raise UsageError for a file of questions that cannot be used."""
    from ...errors import QuestionsError, RetrieveError
    from ...workflows.bench import Bench

    models = Models(warn=warn)

    async def work() -> BenchReport:
        try:
            with ProgressBar(False) as bar:
                job = Bench(project, models, encodings, with_questions, logger, bar.expect, bar.add)
                return await job.run(files, questions)
        except QuestionsError as error:
            raise click.UsageError(str(error)) from None
        finally:
            await models.close()

    return run_or_report(work(), logger, RetrieveError)


def _write_page(path: Path, report: BenchReport, logger: ReportPrinter) -> None:
    from ...workflows.pages.bench_page import bench_page

    try:
        write_output(path, bench_page(report).encode("utf-8"))
        say(f"written: {path}", err=True)
    except OSError as error:
        report_failure(error, path, logger)


def _check_least(report: BenchReport, least: float | None, logger: ReportPrinter) -> None:
    from ...study.measures import hit_at

    first = report.results[0]
    reached = hit_at(first.outcomes, 5)
    if least is not None and not reached >= least:  # `not >=`, so that nan counts as not reached
        logger.error(f"hit@5 of {first.encoding} is {reached:.3f}, below {least:g}")


# For a person


def _print_report(report: BenchReport, project: Project) -> None:
    say(report.embedded + "\n")
    rows = [row for result in report.results for row in _rows(result)]
    width = max(len(name) for name, _ in rows)
    say(f"{'encoding':<{width}}  questions  hit@1  hit@3  hit@5  hit@10    MRR")
    for name, outcomes in rows:
        say(f"{name:<{width}}  {_figures(outcomes)}")
    _print_sections(report.results[0], project)


def _rows(result: EncodingResult) -> list[tuple[str, Sequence[QuestionResult]]]:
    """Return the rows of a table: an encoding, then its questions by their origin if there are several."""
    return [(result.name, result.outcomes), *((f"  {origin}", part) for origin, part in result.by_origin().items())]


def _figures(outcomes: Sequence[QuestionResult]) -> str:
    from ...study.measures import hit_at, mean_reciprocal_rank

    one, three, five, ten = (f"{hit_at(outcomes, k):.3f}" for k in (1, 3, 5, 10))
    return f"{len(outcomes):>9}  {one}  {three}  {five}  {ten:>6}  {mean_reciprocal_rank(outcomes):.3f}"


def _print_sections(result: EncodingResult, project: Project) -> None:
    """Print the sections that some question does not find, the worst first."""
    from ...study.measures import by_section
    from ...workflows.bench import FOUND, is_missed

    sections = by_section(result.outcomes)
    hard = [(section, outcomes) for section, outcomes in sections if any(map(is_missed, outcomes))]
    if not hard:
        say(f"\nAll sections are among the first {FOUND} hits of their questions.")
        return
    say(
        f"\n{len(hard)} of {counted(len(sections), 'section')} not among the first {FOUND} hits of a question "
        f"({result.encoding}), the worst first:"
    )
    for section, outcomes in hard[:SECTIONS_SHOWN]:
        _print_section(section, filter(is_missed, outcomes), project)
    if len(hard) > SECTIONS_SHOWN:
        say(f"\n{len(hard) - SECTIONS_SHOWN} more: --json, or --html FILE")


def _print_section(section: Section, missed: Iterable[QuestionResult], project: Project) -> None:
    from ...workflows.bench import describe_rank

    say(f"\n{shorten(project.root / section.source)}:{section.line_start}  ", nl=False)
    say(" > ".join(section.titles), style="bold")
    for one in missed:
        say(f"    {one.labelled.question}")
        place = describe_rank(one.rank)
        if one.first is not None:
            first = f"{shorten(project.root / one.first.source)}:{one.first.line_start}"
            place += f"; first is {first}  {' > '.join(one.first.titles)}"
        say(f"      {place}")


# For programs


def _report_as_json(report: BenchReport) -> dict[str, Any]:
    return {
        "embedded": list(report.annotations),
        "with_questions": report.with_questions,
        "unlabelled": report.unlabelled,
        "encodings": [_result_as_json(result) for result in report.results],
    }


def _result_as_json(result: EncodingResult) -> dict[str, Any]:
    from ...study.measures import by_section

    origins = {origin: _measures(outcomes) for origin, outcomes in result.by_origin().items()}
    sections = [_section_as_json(section, outcomes) for section, outcomes in by_section(result.outcomes)]
    return {
        "encoding": result.encoding,
        "embedding": result.embedding,
        **_measures(result.outcomes),
        "origins": origins,
        "sections": sections,
    }


def _measures(outcomes: Sequence[QuestionResult]) -> dict[str, float]:
    from ...study.measures import hit_at, mean_reciprocal_rank

    hits = {f"hit@{k}": round(hit_at(outcomes, k), 4) for k in (1, 3, 5, 10)}
    return {"questions": len(outcomes), **hits, "mrr": round(mean_reciprocal_rank(outcomes), 4)}


def _section_as_json(section: Section, outcomes: Sequence[QuestionResult]) -> dict[str, Any]:
    asked = [
        {
            "question": one.labelled.question,
            "origin": one.labelled.origin,
            "rank": one.rank,
            "first": one.first and {"place": one.first.place, "titles": one.first.titles, "text": one.first.text},
        }
        for one in outcomes
    ]
    place = {"place": section.place, "anchor": section.anchor, "titles": section.titles}
    return {**place, **_measures(outcomes), "asked": asked}
