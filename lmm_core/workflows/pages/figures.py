"""Pieces of pages that show numbers: columns over time, bars, and tables. They need no script and no font.

Pictures are stretched to the room that there is, and their texts stand beside them, so that these keep their size
on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...asked.figures import Period

TICKS = 5
_SHAPE = 'preserveAspectRatio="none"'  # of a picture that is stretched


def column_chart(name: str, periods: Sequence[Period], labels: Sequence[str]) -> str:
    """Return columns with the numbers in a table below. labels: those of the periods, as HTML."""
    most, width = _round_up(max(one.asked for one in periods)), 10 * len(periods)
    busiest = max(range(len(periods)), key=lambda at: periods[at].asked)
    said = (
        f"{name}: most questions, {periods[busiest].asked:,}, at {labels[busiest]}; all numbers are in the table below"
    )
    lines = "".join(f'<line class="grid" x1="0" x2="{width}" y1="{y}" y2="{y}"/>' for y in (0, 50, 100))
    columns = "".join(_column(number, one, most) for number, one in enumerate(periods))
    scale = "".join(f"<span>{number:,g}</span>" for number in (most, most / 2, 0))
    ticks = "".join(f"<span>{label}</span>" for label in _ticks(labels))
    return (
        f'<figure><figcaption>{name}{_key()}</figcaption><div class="plot">'
        f'<div class="scale" aria-hidden="true">{scale}</div>'
        f'<svg viewBox="0 0 {width} 100" {_SHAPE} role="img" aria-label="{escape(said)}">{lines}{columns}</svg>'
        f'<div class="ticks" aria-hidden="true">{ticks}</div></div>'
        f"<details><summary>The numbers</summary>{_period_table(name, periods, labels)}</details></figure>"
    )


def _key() -> str:
    def mark(kind: str) -> str:
        return f'<svg viewBox="0 0 1 1" aria-hidden="true"><rect class="{kind}" width="1" height="1"/></svg>'

    return f'<span class="key"><span>{mark("good")}answered</span><span>{mark("failing")}failed</span></span>'


def _column(number: int, period: Period, most: int) -> str:
    asked, failed = 100 * period.asked / most, 100 * period.failed / most
    good = _rect("good", 10 * number + 1, 100 - asked, 8, asked - failed)
    return good + _rect("failing", 10 * number + 1, 100 - failed, 8, failed)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    if width <= 0 or height <= 0:
        return ""
    return f'<rect class="{kind}" x="{x:.4g}" y="{y:.4g}" width="{width:.4g}" height="{height:.4g}"/>'


def _round_up(number: int) -> int:
    """Return the next number of a scale whose middle is whole: 2, 4, 6, 10, 20, 40, …"""
    scale = 1
    while number > 10 * scale:
        scale *= 10
    return next(step * scale for step in (2, 4, 6, 10) if step * scale >= number)


def _ticks(labels: Sequence[str]) -> list[str]:
    count = min(TICKS, len(labels))
    return [labels[round(at * (len(labels) - 1) / max(count - 1, 1))] for at in range(count)]


def _period_table(name: str, periods: Sequence[Period], labels: Sequence[str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{label}</th>{number_cell(one.asked)}{number_cell(one.failed)}</tr>'
        for label, one in zip(labels, periods, strict=True)
        if one.asked
    )
    table = f"<table>{table_head('', 'asked', 'failed')}<tbody>{rows}</tbody></table>"
    return f'<div class="rows" tabindex="0" role="region" aria-label="Numbers: {name}">{table}</div>'


def bar(number: int, failed: int, most: int) -> str:
    """Return a bar that is as long as a number, with what failed of it at its end. The numbers stand beside it."""
    length, end = 100 * number / most, 100 * failed / most
    return (
        f'<svg class="bar" viewBox="0 0 100 10" {_SHAPE} aria-hidden="true">{_rect("track", 0, 0, 100, 10)}'
        f"{_rect('good', 0, 0, length, 10)}{_rect('failing', length - end, 0, end, 10)}</svg>"
    )


def table_head(first: str, *numbers: str) -> str:
    """Return the head of a table; the column of bars has no name."""
    cells = [f'<th scope="col">{first}</th>' if first else "<td></td>"]
    cells += [f'<th class="number" scope="col">{name}</th>' if name else '<td class="bars"></td>' for name in numbers]
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def number_cell(number: int) -> str:
    """Return the cell of a number."""
    return f'<td class="number">{number:,}</td>'
