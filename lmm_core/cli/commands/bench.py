"""The command that measures which sections cannot be found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...files.outputs import HTML, write_output
from ...index.encoding import EncodingModel
from ...logging import counted, say
from ...settings.project import Project
from ...workflows.models import Models
from ..reports import (
    Bar,
    Told,
    check_written,
    find,
    json_option,
    leave,
    output_option,
    paths_argument,
    print_json,
    project_at,
    tell,
    told,
    warn,
)
from .find import relative

if TYPE_CHECKING:
    from ...retrieve.passages import Section
    from ...study.measures import QuestionResult
    from ...workflows.bench import BenchReport, Result

SHOWN = 10  # sections
FOUND = 5  # a section that is among so many hits is found
ENCODINGS = tuple(str(kind) for kind in EncodingModel if kind is not EncodingModel.NONE)


@click.command()
@paths_argument
@click.option("--encoding", "encodings", multiple=True, type=click.Choice(ENCODINGS), metavar="NAME",
              help="An encoding to measure; may be repeated (else: the configured one, and bm25).")  # fmt: skip
@click.option("--with-questions", is_flag=True, help="Embed the annotated questions, too.")
@click.option("--questions", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Students' questions with their sections (.csv, .jsonl).")  # fmt: skip
@click.option("--min-hit5", type=click.FloatRange(0, 1), metavar="X", help="Exit 1 where hit@5 is below X (0 to 1).")
@output_option("--html", "html", shown="Write a page to look at.")
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
    """Which sections can students not find? Their annotated questions are the test."""
    logger = Told()
    files = find(paths, logger)
    if html is not None:
        check_written(html, [*files, *([questions] if questions else [])], HTML)
    project = project_at(files[0] if files else paths[0] / "-")
    report = _measured(files, project, encodings, with_questions, questions, logger)
    if report is None:
        sys.exit(1)
    if report.unlabelled:
        warn(f"{questions}: {counted(report.unlabelled, 'question')} without a section left out")
    if html is not None:
        _write_page(html, report, logger)
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report, project)
    _judge(report, min_hit5, logger)
    leave(logger)


def _measured(
    files: list[Path], project: Project, encodings: Sequence[str], with_questions: bool, questions: Path | None,
    logger: Told,
) -> BenchReport | None:  # fmt: skip
    """The measures; None where there are none, which is told. A file of questions that cannot
    be used is wrong usage."""
    from ...errors import QuestionsError, RetrieveError
    from ...workflows.bench import Bench

    models = Models(warn=warn)

    async def work() -> BenchReport:
        try:
            with Bar(False) as bar:
                job = Bench(project, models, encodings, with_questions, logger, bar.expect, bar.add)
                return await job.run(files, questions)
        except QuestionsError as error:
            raise click.UsageError(str(error)) from None
        finally:
            await models.close()

    return told(work(), logger, RetrieveError)


def _write_page(path: Path, report: BenchReport, logger: Told) -> None:
    from ...workflows.pages.bench_page import bench_page

    try:
        write_output(path, bench_page(report).encode("utf-8"))
        say(f"written: {path}", err=True)
    except OSError as error:
        tell(error, path, logger)


def _judge(report: BenchReport, least: float | None, logger: Told) -> None:
    from ...study.measures import hit_at

    first = report.results[0]
    reached = hit_at(first.outcomes, 5)
    if least is not None and not reached >= least:  # so nan is not reached either
        logger.error(f"hit@5 of {first.encoding} is {reached:.3f}, below {least:g}")


# For a person


def _print(report: BenchReport, project: Project) -> None:
    say(embedded(report) + "\n")
    rows = [row for result in report.results for row in _rows(result)]
    width = max(len(name) for name, _ in rows)
    say(f"{'encoding':<{width}}  questions  hit@1  hit@3  hit@5  hit@10    MRR")
    for name, outcomes in rows:
        say(f"{name:<{width}}  {_figures(outcomes)}")
    _print_sections(report.results[0], project)


def embedded(report: BenchReport) -> str:
    """What was embedded, in a sentence, so that nobody takes the figures for others."""
    names = ", ".join(report.annotations) or "nothing"
    if report.with_questions:
        return f"Embedded with the text: {names}. The questions find themselves: students' will do worse."
    return f"Embedded with the text: {names}. The annotated questions are left out, so that they test the text."


def _rows(result: Result) -> list[tuple[str, Sequence[QuestionResult]]]:
    """The rows of a table: an encoding, and its questions by where they are from, where that
    is not one place."""
    return [(name_of(result), result.outcomes), *((f"  {origin}", part) for origin, part in by_origin(result).items())]


def name_of(result: Result) -> str:
    """An encoding with its embedding model."""
    return f"{result.encoding} ({result.embedding})" if result.embedding else result.encoding


def by_origin(result: Result) -> dict[str, list[QuestionResult]]:
    """Outcomes by where the questions are from; nothing where they are all from one place."""
    parts: dict[str, list[QuestionResult]] = {}
    for one in result.outcomes:
        parts.setdefault(one.labelled.origin, []).append(one)
    return parts if len(parts) > 1 else {}


def _figures(outcomes: Sequence[QuestionResult]) -> str:
    from ...study.measures import hit_at, mean_reciprocal_rank

    one, three, five, ten = (f"{hit_at(outcomes, k):.3f}" for k in (1, 3, 5, 10))
    return f"{len(outcomes):>9}  {one}  {three}  {five}  {ten:>6}  {mean_reciprocal_rank(outcomes):.3f}"


def _print_sections(result: Result, project: Project) -> None:
    """Sections that some question does not find, the worst first."""
    from ...study.measures import by_section

    sections = by_section(result.outcomes)
    hard = [(section, outcomes) for section, outcomes in sections if any(map(is_missed, outcomes))]
    if not hard:
        say(f"\nAll sections are among the first {FOUND} hits of their questions.")
        return
    say(
        f"\n{len(hard)} of {counted(len(sections), 'section')} not among the first {FOUND} hits of a question "
        f"({result.encoding}), the worst first:"
    )
    for section, outcomes in hard[:SHOWN]:
        _print_section(section, outcomes, project)
    if len(hard) > SHOWN:
        say(f"\n{len(hard) - SHOWN} more: --json, or --html FILE")


def is_missed(outcome: QuestionResult) -> bool:
    """Whether the section is not among the first hits."""
    return outcome.rank is None or outcome.rank > FOUND


def _print_section(section: Section, outcomes: Sequence[QuestionResult], project: Project) -> None:
    say(f"\n{relative(project.root / section.source)}:{section.line_start}  ", nl=False)
    say(" > ".join(section.titles), style="bold")
    for one in filter(is_missed, outcomes):
        say(f"    {one.labelled.question}")
        told = shown_rank(one.rank)
        if one.first is not None:
            place = f"{relative(project.root / one.first.source)}:{one.first.line_start}"
            told += f"; first is {place}  {' > '.join(one.first.titles)}"
        say(f"      {told}")


def shown_rank(rank: int | None) -> str:
    """A rank in words."""
    from ...study.measures import DEPTH

    return f"not among {DEPTH} hits" if rank is None else f"hit {rank}"


# For programs


def _as_json(report: BenchReport) -> dict[str, Any]:
    return {
        "embedded": list(report.annotations),
        "with_questions": report.with_questions,
        "unlabelled": report.unlabelled,
        "encodings": [_result_as_json(result) for result in report.results],
    }


def _result_as_json(result: Result) -> dict[str, Any]:
    from ...study.measures import by_section

    origins = {origin: _measures(outcomes) for origin, outcomes in by_origin(result).items()}
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
