"""A page that shows how well sections are found: a curve for each encoding, a bar for each
section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from ...cli.commands.bench import FOUND, by_origin, embedded, is_missed, name_of, shown_rank
from ...files.outputs import GENERATOR
from ...study.measures import by_section, hit_at, mean_reciprocal_rank

if TYPE_CHECKING:
    from ...retrieve.passages import Section
    from ...study.measures import QuestionResult
    from ..bench import BenchReport, Result

CURVE = 10  # hits that a curve goes to
WIDTH, HEIGHT, LEFT, TOP = 560, 260, 44, 14  # of the plot inside its axes, and the room before it
# Colours that people with colour-blindness tell apart (Okabe and Ito), and dashes for those who see none.
_STYLE = """
:root { color-scheme: light dark; --ink: #222; --page: #fff; --soft: #5a5a5a; --line: #ccc;
  --c0: #0072b2; --c1: #b84a00; --c2: #00785a; --c3: #a8477f; --c4: #777 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --page: #16181b; --soft: #aaa; --line: #444;
    --c0: #56b4e9; --c1: #f0a040; --c2: #3ecf9f; --c3: #e59bc8; --c4: #bbb }
}
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem;
  color: var(--ink); background: var(--page) }
svg { max-width: 100%; height: auto; font: 13px system-ui, sans-serif }
svg text { fill: var(--ink) }
svg .grid { stroke: var(--line) }
.c0 { --c: var(--c0) }
.c1 { --c: var(--c1); --d: 7 4 }
.c2 { --c: var(--c2); --d: 2 4 }
.c3 { --c: var(--c3); --d: 9 3 2 3 }
.c4 { --c: var(--c4); --d: 14 5 }
.curve { fill: none; stroke: var(--c); stroke-width: 2.5; stroke-dasharray: var(--d, none) }
.dot { fill: var(--c); stroke: var(--c); stroke-width: 1.5 }
.hollow .dot { fill: var(--page) }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tbody th { font-weight: normal }
.bar { fill: var(--c0) }
.missed .bar { fill: var(--c1) }
.track { fill: var(--line) }
.place { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere }
details { font-size: .9rem }
summary { cursor: pointer; color: var(--soft) }
.missed summary { color: var(--c1) }
"""


def bench_page(report: BenchReport) -> str:
    """The page, as HTML that needs nothing else."""
    first = report.results[0]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}'
        '<meta name="viewport" content="width=device-width"><title>Which sections are found?</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>Which sections are found?</h1>\n"
        f"<p>{len(first.outcomes)} questions. {escape(embedded(report))}</p>\n"
        f"<h2>Questions whose section is among the first k hits</h2>\n{_plot(report.results)}\n"
        f"{_table(report.results)}\n"
        f"<h2>Sections, the worst first</h2>\n<p>By {escape(first.encoding)}. A bar is the mean of 1/rank: 1 where "
        "each question finds its section first, 0 where none does. Orange: not among the first "
        f"{FOUND} hits of some question.</p>\n{_sections(first)}\n</body></html>\n"
    )


# The curves


def _plot(results: Sequence[Result]) -> str:
    lines = [_level(share / 4) for share in range(5)]
    ticks = [f'<text x="{_x(k):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{k}</text>' for k in _ranks()]
    curves = [_curve(number, result) for number, result in enumerate(results)]
    height = TOP + HEIGHT + 46 + 20 * len(results)
    legend = [_legend(number, result) for number, result in enumerate(results)]
    told = "; ".join(f"{result.encoding} {hit_at(result.outcomes, 1):.2f} to {hit_at(result.outcomes, CURVE):.2f}"
                     for result in results)  # fmt: skip
    return (
        f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {height}" width="{LEFT + WIDTH + 20}" role="img" '
        f'aria-label="hit@k for k from 1 to {CURVE}: {escape(told)}">'
        + "".join([*lines, *ticks, *curves, *legend])
        + f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">k</text></svg>'
    )


def _ranks() -> range:
    return range(1, CURVE + 1)


def _x(rank: int) -> float:
    return LEFT + 10 + (WIDTH - 20) * (rank - 1) / (CURVE - 1)


def _y(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _level(share: float) -> str:
    y = _y(share)
    return (
        f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.2f}</text>'
    )


def _curve(number: int, result: Result) -> str:
    points = [(_x(k), _y(hit_at(result.outcomes, k))) for k in _ranks()]
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<g class="{_mark(number)}"><polyline class="curve" points="{line}"/>{dots}</g>'


def _mark(number: int) -> str:
    """The classes that tell a curve from the others: five colours, twice."""
    return f"c{number % 5}" + (" hollow" if number >= 5 else "")


def _legend(number: int, result: Result) -> str:
    y = TOP + HEIGHT + 56 + 20 * number
    return (
        f'<g class="{_mark(number)}"><polyline class="curve" points="{LEFT},{y} {LEFT + 44},{y}"/>'
        f'<circle class="dot" cx="{LEFT + 22}" cy="{y}" r="3.5"/>'
        f'<text x="{LEFT + 54}" y="{y + 4}">{escape(name_of(result))}</text></g>'
    )


def _table(results: Sequence[Result]) -> str:
    heads = "".join(f'<th class="number" scope="col">{name}</th>'
                    for name in ("questions", "hit@1", "hit@3", "hit@5", "hit@10", "MRR"))  # fmt: skip
    rows = []
    for result in results:
        rows.append(_row(name_of(result), result.outcomes))
        rows += [_row(f"of them {origin}", outcomes) for origin, outcomes in by_origin(result).items()]
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">encoding</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(name: str, outcomes: Sequence[QuestionResult]) -> str:
    shares = [f"{hit_at(outcomes, k):.3f}" for k in (1, 3, 5, 10)] + [f"{mean_reciprocal_rank(outcomes):.3f}"]
    cells = "".join(f'<td class="number">{shown}</td>' for shown in [str(len(outcomes)), *shares])
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


# The sections


def _sections(result: Result) -> str:
    rows = "\n".join(_section(section, outcomes) for section, outcomes in by_section(result.outcomes))
    return (
        '<table><thead><tr><th scope="col">section</th><th scope="col">found</th>'
        f'<th class="number" scope="col">MRR</th></tr></thead><tbody>\n{rows}\n</tbody></table>'
    )


def _section(section: Section, outcomes: Sequence[QuestionResult]) -> str:
    missed = [one for one in outcomes if is_missed(one)]
    mean = mean_reciprocal_rank(outcomes)
    asked = "".join(map(_asked, outcomes))
    marked = ' class="missed"' if missed else ""
    return (
        f'<tr{marked}><th scope="row">{escape(" > ".join(section.titles) or section.source)}'
        f'<div class="place">{escape(section.place)}</div>'
        f"<details{' open' if missed else ''}><summary>{len(outcomes)} asked, {len(missed)} missed</summary>"
        f'<ul>{asked}</ul></details></th><td>{_bar(mean)}</td><td class="number">{mean:.2f}</td></tr>'
    )


def _bar(share: float) -> str:
    return (
        f'<svg viewBox="0 0 160 12" width="160" role="img" aria-label="{share:.2f}"><rect class="track" width="160" '
        f'height="12" rx="3"/><rect class="bar" width="{160 * share:.1f}" height="12" rx="3"/></svg>'
    )


def _asked(outcome: QuestionResult) -> str:
    told = shown_rank(outcome.rank)
    if outcome.rank != 1 and outcome.first is not None:
        told += f"; first is {' > '.join(outcome.first.titles)} ({outcome.first.place})"
    return f'<li>{escape(outcome.labelled.question)} <span class="place">{escape(told)}</span></li>'
