"""A page that shows how well sections are found: figures for each encoding, and a bar for each section."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from ..files.outputs import GENERATOR
from .measures import FOUND, by_section, describe_rank, hit_at, mean_reciprocal_rank, share_refused, share_shown

if TYPE_CHECKING:
    from ..index.passages import Section
    from ..study.bench import BenchReport, EncodingResult
    from .measures import QuestionResult
    from .words import MissingWord

_HTML, _CSS = (Path(__file__).with_name(f"bench_page.{suffix}") for suffix in ("html", "css"))


def bench_page(report: BenchReport) -> str:
    """Return the page as HTML that needs no other file."""
    first = report.results[0]
    return Template(_HTML.read_text(encoding="utf-8")).substitute(
        generator=GENERATOR,
        style=_CSS.read_text(encoding="utf-8"),
        count=len(first.outcomes),
        budget=f"{report.budget:,}",
        encoding=escape(first.encoding),
        found=FOUND,
        measures="".join(map(_measure_rows, report.results)),
        words="\n".join(map(_word, report.missing)) or '<tr><td colspan="3">none</td></tr>',
        sections="\n".join(_section(section, outcomes) for section, outcomes in by_section(first.outcomes)),
    )


def _measure_rows(result: EncodingResult) -> str:
    rows = [(result.name, result.outcomes), *((f"of them {name}", own) for name, own in result.by_origin().items())]
    return "".join(_row(name, outcomes) for name, outcomes in rows)


def _row(name: str, outcomes: Sequence[QuestionResult]) -> str:
    shares = [hit_at(outcomes, 1), hit_at(outcomes, FOUND), share_shown(outcomes), share_refused(outcomes)]
    cells = "".join(f'<td class="number">{one}</td>' for one in (len(outcomes), *(f"{share:.3f}" for share in shares)))
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _word(word: MissingWord) -> str:
    section = f"{' > '.join(word.section.titles)} ({word.section.place})"
    return (
        f'<tr><th scope="row">{escape(word.word)}</th><td class="number">{len(word.asked)}</td>'
        f"<td>{escape(section)}</td></tr>"
    )


def _section(section: Section, outcomes: Sequence[QuestionResult]) -> str:
    missed, mean = sum(one.is_missed for one in outcomes), mean_reciprocal_rank(outcomes)
    return (
        f'<tr{" class=missed" if missed else ""}><th scope="row">{escape(" > ".join(section.titles) or section.source)}'
        f'<div class="place">{escape(section.place)}</div><details{" open" if missed else ""}><summary>'
        f"{len(outcomes)} asked, {missed} missed</summary><ul>{''.join(map(_question, outcomes))}</ul></details></th>"
        f'<td><meter value="{mean:.2f}">{mean:.2f}</meter></td><td class="number">{mean:.2f}</td></tr>'
    )


def _question(outcome: QuestionResult) -> str:
    place = describe_rank(outcome.rank)
    if outcome.rank != 1 and outcome.first is not None:
        place += f"; first is {' > '.join(outcome.first.titles)} ({outcome.first.place})"
    return f'<li>{escape(outcome.labelled.question)} <span class="place">{escape(place)}</span></li>'
