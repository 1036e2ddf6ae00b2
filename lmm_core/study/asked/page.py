"""Build an HTML page of students' questions that needs neither scripts nor network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template

from ...files.outputs import GENERATOR
from ...logging import counted, printable
from .overview import AskedOverview, Comment, ShownGroup, ShownSection

CARDS = 10  # shown before the rest is folded
MOST_COMMENTS = 200
NOTHING = '<p class="none">Nothing so far.</p>'
_FOLDER = Path(__file__).parent


def asked_page(overview: AskedOverview) -> str:
    """Return the page as self-contained HTML."""
    failures = [f'<li class="failed">{_group(group, group.failed)}</li>' for group in overview.failures]
    subjects = [f"<li>{_group(group, group.questions)}</li>" for group in overview.subjects]
    return Template(_read("page.html")).substitute(
        generator=GENERATOR,
        style=_read("page.css"),
        policy=asked_policy(),
        title=_text(overview.title),
        lead=_lead(overview),
        failures=_folded('<ol class="groups">', failures, "</ol>"),
        subjects=_folded('<ol class="groups">', subjects, "</ol>"),
        unneeded=_unneeded([section for section in overview.sections if not section.cited]),
        comments=_folded('<ul class="comments">', [*map(_comment, overview.comments[:MOST_COMMENTS])], "</ul>"),
        hidden=_hidden(overview),
    )


def asked_policy() -> str:
    """Return the page's content security policy: its own style only."""
    digest = base64.b64encode(hashlib.sha256(_read("page.css").encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(printable(text))


def _asked(tag: str, text: str) -> str:
    """Return a student's text in an element, for either writing direction."""
    return f'<{tag} dir="auto">{_text(text)}</{tag}>'


def _lead(overview: AskedOverview) -> str:
    asked = counted(overview.questions, "question")
    if overview.conversations:
        asked += f" in {counted(overview.conversations, 'conversation')}"
    if not overview.questions:
        return asked
    failed = overview.outcomes["refused"] + overview.outcomes["partly"]
    return (
        f"{asked}, {overview.first} to {overview.last}: {overview.outcomes['answered'] / overview.questions:.0%} "
        f"answered, {failed / overview.questions:.0%} not or in part, {counted(overview.thumbs_down, 'thumb')} down"
    )


def _folded(before: str, parts: Sequence[str], after: str) -> str:
    if not parts:
        return NOTHING
    shown = f"{before}{''.join(parts[:CARDS])}{after}"
    if len(parts) <= CARDS:
        return shown
    rest = f"{before}{''.join(parts[CARDS:])}{after}"
    return f'{shown}<details class="more"><summary>{len(parts) - CARDS:,} more</summary>{rest}</details>'


def _group(group: ShownGroup, count: int) -> str:
    asked = f"in {counted(group.conversations, 'conversation')}, " if group.conversations else ""
    others = "".join(_asked("li", one) for one in group.examples)
    near = "".join(
        f'<li><span>{_text(one.title)}</span> <span class="place">{_text(one.place)}</span></li>'
        for one in group.nearest
    )
    return (
        f'<p class="count">{count:,}<span>{"time" if count == 1 else "times"}</span></p><div>'
        f'{_asked("h3", group.name)}<p class="how">{asked}{group.failed:,} of {group.questions:,} not answered well</p>'
        + (f"<details><summary>Also asked as</summary><ul>{others}</ul></details>" if others else "")
        + (f'<ul class="near">{near}</ul>' if near else "")
        + "</div>"
    )


def _unneeded(sections: Sequence[ShownSection]) -> str:
    if not sections:
        return '<p class="none">Each section was cited by an answer at least once.</p>'
    files = groupby(sections, key=lambda one: one.place.rpartition(":")[0])
    return "".join(f'<div><h3>{_text(file)}</h3><ul class="plain">{_titles(own)}</ul></div>' for file, own in files)


def _titles(sections: Iterable[ShownSection]) -> str:
    return "".join(f"<li>{_text(one.title)}</li>" for one in sections)


def _comment(comment: Comment) -> str:
    kind, thumb = {1: ("up", "Thumb up"), -1: ("down", "Thumb down")}.get(comment.thumb, ("", "No thumb"))
    return f'<li class="{kind}">{_asked("p", comment.text)}<p class="how">{thumb}</p></li>'


def _hidden(overview: AskedOverview) -> str:
    if overview.fewest <= 1:
        return "All groups are shown, also those that only one student asked about."
    what = "conversations" if overview.conversations else "questions"
    groups = "1 group" if overview.small == 1 else f"{overview.small:,} groups"
    return f"{groups} of fewer than {overview.fewest} {what} not shown, because they might tell who asked."
