"""A page that shows how well sections are found: a curve for each encoding, a bar for each section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ...study.measures import by_section, hit_at, mean_reciprocal_rank
from ..bench import FOUND, describe_rank, is_missed
from .templates import fill, fill_page

if TYPE_CHECKING:
    from ...retrieve.passages import Section
    from ...study.measures import QuestionResult
    from ..bench import BenchReport, EncodingResult

CURVE = 10  # hits that a curve goes to
WIDTH, HEIGHT, LEFT, TOP = 560, 260, 44, 14  # of the plot inside its axes, and the room before it; pixels


def bench_page(report: BenchReport) -> str:
    """Return the page as HTML that needs no other file."""
    first, results = report.results[0], report.results
    return fill_page(
        "bench_page",
        count=len(first.outcomes),
        embedded=escape(report.embedded),
        encoding=escape(first.encoding),
        found=FOUND,
        width=LEFT + WIDTH + 20,
        height=TOP + HEIGHT + 46 + 20 * len(results),
        middle=LEFT + WIDTH / 2,
        below=TOP + HEIGHT + 36,
        label=f"hit@k for k from 1 to {CURVE}: {escape(_describe_curves(results))}",
        shapes=_shapes(results),
        measures="".join(map(_measure_rows, results)),
        sections="\n".join(_section(section, outcomes) for section, outcomes in by_section(first.outcomes)),
    )


# The curves


def _describe_curves(results: Sequence[EncodingResult]) -> str:
    """Return what the curves show, for readers who do not see them."""
    return "; ".join(
        f"{result.encoding} {hit_at(result.outcomes, 1):.2f} to {hit_at(result.outcomes, CURVE):.2f}"
        for result in results
    )


def _shapes(results: Sequence[EncodingResult]) -> str:
    lines = [_level(share / 4) for share in range(5)]
    ticks = [f'<text x="{_x(k):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{k}</text>' for k in _ranks()]
    curves = [_curve(number, result) for number, result in enumerate(results)]
    legend = [_legend(number, result) for number, result in enumerate(results)]
    return "".join([*lines, *ticks, *curves, *legend])


def _ranks() -> range:
    return range(1, CURVE + 1)


def _x(rank: int) -> float:
    return LEFT + 10 + (WIDTH - 20) * (rank - 1) / (CURVE - 1)


def _y(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _level(share: float) -> str:
    """Return a horizontal line with its share."""
    y = _y(share)
    return (
        f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.2f}</text>'
    )


def _curve(number: int, result: EncodingResult) -> str:
    points = [(_x(k), _y(hit_at(result.outcomes, k))) for k in _ranks()]
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<g class="{_classes(number)}"><polyline class="curve" points="{line}"/>{dots}</g>'


def _classes(number: int) -> str:
    """Return the classes that tell a curve from the others: five colours, with filled and then hollow dots.

    The colours are some that people with colour-blindness tell apart (Okabe and Ito), and each
    has its own dashes for those who see none."""
    return f"c{number % 5}" + (" hollow" if number >= 5 else "")


def _legend(number: int, result: EncodingResult) -> str:
    y = TOP + HEIGHT + 56 + 20 * number
    return (
        f'<g class="{_classes(number)}"><polyline class="curve" points="{LEFT},{y} {LEFT + 44},{y}"/>'
        f'<circle class="dot" cx="{LEFT + 22}" cy="{y}" r="3.5"/>'
        f'<text x="{LEFT + 54}" y="{y + 4}">{escape(result.name)}</text></g>'
    )


# The table


def _measure_rows(result: EncodingResult) -> str:
    """Return the row of an encoding, and one for each origin of its questions."""
    rows = [_row(result.name, result.outcomes)]
    rows += [_row(f"of them {origin}", outcomes) for origin, outcomes in result.by_origin().items()]
    return "".join(rows)


def _row(name: str, outcomes: Sequence[QuestionResult]) -> str:
    shares = [f"{hit_at(outcomes, k):.3f}" for k in (1, 3, 5, 10)] + [f"{mean_reciprocal_rank(outcomes):.3f}"]
    cells = "".join(f'<td class="number">{figure}</td>' for figure in [str(len(outcomes)), *shares])
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


# The sections


def _section(section: Section, outcomes: Sequence[QuestionResult]) -> str:
    missed = [one for one in outcomes if is_missed(one)]
    mean = mean_reciprocal_rank(outcomes)
    return fill(
        "bench_section",
        mark=' class="missed"' if missed else "",
        titles=escape(" > ".join(section.titles) or section.source),
        place=escape(section.place),
        open=" open" if missed else "",
        count=len(outcomes),
        missed=len(missed),
        questions="".join(map(_question, outcomes)),
        bar=_bar(mean),
        mean=f"{mean:.2f}",
    )


def _bar(share: float) -> str:
    return (
        f'<svg viewBox="0 0 160 12" width="160" role="img" aria-label="{share:.2f}"><rect class="track" width="160" '
        f'height="12" rx="3"/><rect class="bar" width="{160 * share:.1f}" height="12" rx="3"/></svg>'
    )


def _question(outcome: QuestionResult) -> str:
    place = describe_rank(outcome.rank)
    if outcome.rank != 1 and outcome.first is not None:
        place += f"; first is {' > '.join(outcome.first.titles)} ({outcome.first.place})"
    return f'<li>{escape(outcome.labelled.question)} <span class="place">{escape(place)}</span></li>'
