"""A page that shows how well sections are found: a curve for each way to search, a bar for each section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ...study.measures import FOUND, by_section, hit_at, mean_reciprocal_rank, share_refused, share_shown
from ..bench import describe_rank
from .templates import fill, fill_page

if TYPE_CHECKING:
    from ...retrieve.passages import Section
    from ...study.measures import QuestionResult
    from ...study.missing_words import MissingWord
    from ..bench import BenchReport, EncodingResult

CURVE = 10  # hits that a curve goes to
WIDTH, HEIGHT, LEFT, TOP = 560, 260, 44, 14  # of the plot inside its axes, and the room before it; pixels


def bench_page(report: BenchReport) -> str:
    """Return the page as HTML that needs no other file."""
    first, curves = report.results[0], _curves(report.results)
    return fill_page(
        "bench_page",
        count=len(first.outcomes),
        budget=f"{report.budget:,}",
        encoding=escape(first.encoding),
        found=FOUND,
        width=LEFT + WIDTH + 20,
        height=TOP + HEIGHT + 46 + 20 * len(curves),
        middle=LEFT + WIDTH / 2,
        below=TOP + HEIGHT + 36,
        label=f"hit@k for k from 1 to {CURVE}: {escape(_describe_curves(curves))}",
        shapes=_shapes(curves),
        measures="".join(map(_measure_rows, report.results)),
        words="\n".join(map(_word, report.missing)) or '<tr><td colspan="3">none</td></tr>',
        sections="\n".join(_section(section, outcomes) for section, outcomes in by_section(first.outcomes)),
    )


# The curves


Curve = tuple[str, Sequence["QuestionResult"]]  # with its name


def _curves(results: Sequence[EncodingResult]) -> list[Curve]:
    """Return a curve for each encoding, or, if there is only one, for each strategy."""
    if len(results) > 1:
        return [(result.name, result.outcomes) for result in results]
    return [(one.strategy.title, one.outcomes) for one in results[0].strategies]


def _describe_curves(curves: Sequence[Curve]) -> str:
    """Return what the curves show, for readers who do not see them."""
    return "; ".join(f"{name} {hit_at(outcomes, 1):.2f} to {hit_at(outcomes, CURVE):.2f}" for name, outcomes in curves)


def _shapes(curves: Sequence[Curve]) -> str:
    lines = [_level(share / 4) for share in range(5)]
    ticks = [f'<text x="{_x(k):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{k}</text>' for k in _ranks()]
    drawn = [_curve(number, outcomes) for number, (_, outcomes) in enumerate(curves)]
    legend = [_legend(number, name) for number, (name, _) in enumerate(curves)]
    return "".join([*lines, *ticks, *drawn, *legend])


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


def _curve(number: int, outcomes: Sequence[QuestionResult]) -> str:
    points = [(_x(k), _y(hit_at(outcomes, k))) for k in _ranks()]
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<g class="{_classes(number)}"><polyline class="curve" points="{line}"/>{dots}</g>'


def _classes(number: int) -> str:
    """Return the classes that tell a curve from the others: five colours, with filled and then hollow dots.

    The colours are some that people with colour-blindness tell apart (Okabe and Ito), and each
    has its own dashes for those who see none."""
    return f"c{number % 5}" + (" hollow" if number >= 5 else "")


def _legend(number: int, name: str) -> str:
    y = TOP + HEIGHT + 56 + 20 * number
    return (
        f'<g class="{_classes(number)}"><polyline class="curve" points="{LEFT},{y} {LEFT + 44},{y}"/>'
        f'<circle class="dot" cx="{LEFT + 22}" cy="{y}" r="3.5"/>'
        f'<text x="{LEFT + 54}" y="{y + 4}">{escape(name)}</text></g>'
    )


# The table


def _measure_rows(result: EncodingResult) -> str:
    """Return the rows of an encoding's strategies, and of the questions of each origin by the last one."""
    rows = [_row(f"{result.name}: {one.strategy.title}", one.outcomes) for one in result.strategies]
    rows += [_row(f"of them {origin}", outcomes) for origin, outcomes in result.by_origin().items()]
    return "".join(rows)


def _row(name: str, outcomes: Sequence[QuestionResult]) -> str:
    shares = [hit_at(outcomes, 1), hit_at(outcomes, FOUND), share_shown(outcomes), share_refused(outcomes)]
    figures = [str(len(outcomes)), *(f"{share:.3f}" for share in shares)]
    cells = "".join(f'<td class="number">{figure}</td>' for figure in figures)
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _word(word: MissingWord) -> str:
    near = f" (taken for: {word.near})" if word.near else ""
    section = f"{' > '.join(word.section.titles)} ({word.section.place})"
    return (
        f'<tr><th scope="row">{escape(word.word + near)}</th><td class="number">{len(word.asked)}</td>'
        f"<td>{escape(section)}</td></tr>"
    )


# The sections


def _section(section: Section, outcomes: Sequence[QuestionResult]) -> str:
    missed = [one for one in outcomes if one.is_missed]
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
