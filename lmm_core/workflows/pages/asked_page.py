"""The teacher's dashboard as a page: pictures with the numbers beside them, without scripts and without network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape
from itertools import groupby

from ...asked.figures import Answerer, Seconds
from ...logging import counted, printable
from ..asked.dashboard import Comment, Dashboard, GroupList, SectionUse, ShownGroup
from ..asked.nearest import NearSection
from .figures import bar, column_chart, number_cell, table_head
from .templates import fill_page, style_policy

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOST_SECTIONS, MOST_UNNEEDED, MOST_COMMENTS = 100, 400, 200  # that are shown
CARDS, ROWS = 10, 12  # that are shown before the others, which are folded away
ENDED = {
    "answered": "answered", "partly": "answered in part", "refused": "not answered", "off_topic": "not of this course",
    "broken": "broke off", "stopped": "stopped by the student",
}  # fmt: skip


def asked_page(dashboard: Dashboard) -> str:
    """Return the page as HTML that needs no other file."""
    return fill_page(
        "asked_page",
        policy=asked_policy(),
        title=_text(dashboard.title),
        of_title=_text(f" – {dashboard.title}" if dashboard.title else ""),
        lead=_lead(dashboard),
        tiles="".join(_tiles(dashboard)),
        failures=_failures(dashboard),
        subjects=_subjects(dashboard),
        charts=_charts(dashboard),
        sections=_sections(dashboard),
        unneeded=_unneeded(dashboard.unneeded),
        comments=_comments(dashboard.comments),
        speed=_speed(dashboard),
        hidden=_hidden(dashboard),
    )


def asked_policy() -> str:
    """Return the content security policy of the page: its own style, and nothing else."""
    return f"default-src 'none'; style-src {style_policy('asked_page')}; base-uri 'none'; form-action 'none'"


def _text(text: str) -> str:
    """Return what somebody wrote as HTML that shows it and does nothing else."""
    return escape(printable(text))


def _asked(tag: str, text: str) -> str:
    """Return what a student typed, in whatever direction it is written."""
    return f'<{tag} dir="auto">{_text(text)}</{tag}>'


def _day(label: str) -> str:
    day = date.fromisoformat(label)
    return f"{day.day} {MONTHS[day.month - 1]}"


def _lead(dashboard: Dashboard) -> str:
    said = _asked_in(dashboard.questions, dashboard.conversations)
    if not dashboard.dates:
        return said
    first, last = dashboard.dates[0].label, dashboard.dates[-1].label
    if dashboard.unit != "day":
        return f"{said}, since {_day(first)} {first[:4]}"
    return f"{said}, {_day(first)} {first[:4]} to {_day(last)} {last[:4]}"


def _asked_in(questions: int, conversations: int) -> str:
    asked = f"{questions:,} question{'' if questions == 1 else 's'}"
    return f"{asked} in {conversations:,} conversation{'' if conversations == 1 else 's'}" if conversations else asked


# What stands above


def _tiles(dashboard: Dashboard) -> list[str]:
    outcomes, asked = dashboard.outcomes, max(dashboard.questions, 1)
    refused = outcomes["refused"] + outcomes["partly"]
    tiles = [
        _tile("Answered from the notes", f"{outcomes['answered'] / asked:.0%}", f"{outcomes['answered']:,} questions"),
        _tile("Not answered, or in part", f"{refused / asked:.0%}", f"{refused:,} questions", "bad"),
        _tile("Thumbs down", f"{dashboard.thumbs_down:,}", f"and {dashboard.thumbs_up:,} up", "bad"),
    ]
    if first := dashboard.first_word:
        tiles.append(_tile("First word after", f"{first.median:.1f} s", f"nine of ten within {first.p90:.1f} s"))
    if costs := [one.cost for one in dashboard.answerers if one.cost is not None]:
        tiles.append(_tile("Cost", f"{sum(costs):,.2f}", f"{1000 * sum(costs) / asked:,.2f} for 1,000 questions"))
    return tiles


def _tile(name: str, figure: str, remark: str, kind: str = "") -> str:
    return f'<div class="{kind}"><dt>{name}</dt><dd>{figure}</dd><dd>{remark}</dd></div>'


# Groups of questions


def _failures(dashboard: Dashboard) -> str:
    found = dashboard.failures
    if not found.groups:
        return _nothing("Nothing that enough students asked to be shown here.", found, dashboard.fewest)
    cards = [f'<li class="failed">{_group(group)}</li>' for group in found.groups]
    return _folded('<ol class="groups">', cards, "</ol>", CARDS, "smaller groups") + _few(found, dashboard.fewest)


def _folded(before: str, parts: Sequence[str], after: str, first: int, others: str) -> str:
    """Return parts of a list or table, all but the first ones folded away. others: what these are called."""
    shown = f"{before}{''.join(parts[:first])}{after}"
    if len(parts) <= first:
        return shown
    rest = f"{before}{''.join(parts[first:])}{after}"
    return f'{shown}<details class="more"><summary>{len(parts) - first:,} {others}</summary>{rest}</details>'


def _nothing(said: str, found: GroupList, fewest: int) -> str:
    return f'<p class="none">{said if found.small else "Nothing so far."}</p>{_few(found, fewest)}'


def _group(group: ShownGroup) -> str:
    """Return a card: how many, the question, how its questions ended, and where its answer might belong."""
    number = f'<p class="count">{group.questions:,}<span>{"time" if group.questions == 1 else "times"}</span></p>'
    near = "".join(map(_near, group.nearest))
    return (
        f'{number}<div>{_asked("h3", group.name)}<p class="how">{_how_ended(group)}</p>'
        f'{_others(group)}{f"""<ul class="near">{near}</ul>""" if near else ""}</div>'
    )


def _how_ended(group: ShownGroup) -> str:
    ended = [(group.refused, "not answered"), (group.partly, "answered in part"), (group.thumbs_down, "thumbs down")]
    said = [f"{number:,} {name}" for number, name in ended if number]
    asked = f"in {counted(group.conversations, 'conversation')}" if group.conversations else ""
    return ", ".join(filter(None, [asked, *said]))


def _others(group: ShownGroup) -> str:
    if not group.examples:
        return ""
    shown = "".join(_asked("li", one) for one in group.examples)
    return f"<details><summary>Also asked as</summary><ul>{shown}</ul></details>"


def _near(section: NearSection) -> str:
    return f'<li><span>{_text(section.title)}</span> <span class="place">{_text(section.place)}</span></li>'


def _subjects(dashboard: Dashboard) -> str:
    found = dashboard.subjects
    if not found.groups:
        return _nothing("No subject was asked about by enough students to be shown here.", found, dashboard.fewest)
    most = max(group.questions for group in found.groups)
    rows = [_subject(group, most) for group in found.groups]
    head = table_head("The most central question, and where the notes say most about it", "", "asked", "not answered")
    before, after = f"<table>{head}<tbody>", "</tbody></table>"
    return _folded(before, rows, after, ROWS, "smaller subjects") + _few(found, dashboard.fewest)


def _subject(group: ShownGroup, most: int) -> str:
    failed = group.refused + group.partly
    near = group.nearest[0].place if group.nearest else ""
    return (
        f'<tr><th scope="row">{_asked("span", group.name)}<span class="place">{_text(near)}</span></th>'
        f'<td class="bars">{bar(group.questions, failed, most)}</td>{number_cell(group.questions)}'
        f"{number_cell(failed)}</tr>"
    )


def _few(found: GroupList, fewest: int) -> str:
    """Return how many groups are not shown, and why."""
    said = []
    if found.more:
        said.append(f"{found.more:,} smaller groups more: lmm asked --json")
    if found.small:
        kind = "group" if found.small == 1 else "groups"
        asked = "in only one conversation" if fewest == 2 else f"in fewer than {fewest} conversations"
        said.append(f"{found.small:,} {kind} asked {asked} not shown")
    return f'<p class="few">{"; ".join(said)}.</p>' if said else ""


# When


def _charts(dashboard: Dashboard) -> str:
    if not dashboard.dates:
        return '<p class="none">Nothing so far.</p>'
    days = [_day(one.label) if dashboard.unit != "month" else _month(one.label) for one in dashboard.dates]
    unit = {"day": "Each day", "week": "Each week, by its Monday", "month": "Each month"}[dashboard.unit]
    hours = [one.label for one in dashboard.hours]
    return column_chart(unit, dashboard.dates, days) + column_chart("Hours of the day", dashboard.hours, hours)


def _month(label: str) -> str:
    return f"{MONTHS[int(label[5:7]) - 1]} {label[:4]}"


# Sections


def _sections(dashboard: Dashboard) -> str:
    if not dashboard.sections:
        return '<p class="none">No answer has cited a section so far.</p>'
    most = dashboard.sections[0].cited
    shown = dashboard.sections[:MOST_SECTIONS]
    rows = [
        f'<tr><th scope="row">{_text(_title(one))}<span class="place">{_text(one.place)}</span></th>'
        f'<td class="bars">{bar(one.cited, one.failed, most)}</td>{number_cell(one.cited)}'
        f"{number_cell(one.failed)}</tr>"
        for one in shown
    ]
    said = [f"{len(dashboard.sections) - len(shown):,} more: lmm asked --json"] * (len(shown) < len(dashboard.sections))
    if dashboard.gone:
        said.append(f"{counted(dashboard.gone, 'section')} that answers cited no longer in the notes, or renamed")
    more = f'<p class="few">{"; ".join(said)}.</p>' if said else ""
    before, after = f"<table>{table_head('Section', '', 'answers', 'that failed')}<tbody>", "</tbody></table>"
    return _folded(before, rows, after, ROWS, "more sections") + more


def _title(section: SectionUse) -> str:
    return " › ".join(section.titles[-2:]) or section.address


def _unneeded(sections: Sequence[SectionUse]) -> str:
    if not sections:
        return '<p class="none">Each section was cited by an answer at least once.</p>'
    shown = sections[:MOST_UNNEEDED]
    files = groupby(shown, key=lambda one: one.place.rpartition(":")[0])
    parts = "".join(f'<div><h3>{_text(file)}</h3><ul class="plain">{"".join(map(_unneeded_one, own))}</ul></div>'
                    for file, own in files)  # fmt: skip
    said = f"{counted(len(sections), 'section')} of the notes that no answer has cited."
    more = (
        f'<p class="few">{len(sections) - len(shown):,} more: lmm asked --json.</p>'
        if len(shown) < len(sections)
        else ""
    )
    return f'<p class="said">{said}</p><div class="files">{parts}</div>{more}'


def _unneeded_one(section: SectionUse) -> str:
    title = section.titles[-1] if section.titles else section.address
    seen = f"found {counted(section.found, 'time')}, " if section.found else ""
    line = section.place.rpartition(":")[2]
    return f'<li><span>{_text(title)}</span> <span class="place">{seen}line {line}</span></li>'


# Comments, speed and cost


def _comments(comments: Sequence[Comment]) -> str:
    if not comments:
        return '<p class="none">Nobody has written one so far.</p>'
    cards = [*map(_comment, comments[:MOST_COMMENTS])]
    more = len(comments) - len(cards)
    return _folded('<ul class="comments">', cards, "</ul>", CARDS, "earlier comments") + (
        f'<p class="few">{more:,} more: lmm asked --json.</p>' if more else ""
    )


def _comment(comment: Comment) -> str:
    kind, said = {1: ("up", "Thumb up"), -1: ("down", "Thumb down")}.get(comment.thumb, ("", "No thumb"))
    about = f" on “{_asked('span', comment.about)}”" if comment.about else ""
    return f'<li class="{kind}">{_asked("p", comment.text)}<p class="how">{said}{about}</p></li>'


def _speed(dashboard: Dashboard) -> str:
    tables = [_outcomes(dashboard)]
    if dashboard.first_word or dashboard.seconds:
        tables.append(_seconds(("First word", dashboard.first_word), ("Whole answer", dashboard.seconds)))
    if dashboard.answerers:
        tables.append(_answerers(dashboard.answerers))
    return "".join(tables)


def _outcomes(dashboard: Dashboard) -> str:
    rows = "".join(
        f'<tr><th scope="row">{ENDED[outcome].capitalize()}</th>{number_cell(number)}'
        f'<td class="number">{number / max(dashboard.questions, 1):.1%}</td></tr>'
        for outcome, number in dashboard.outcomes.items()
    )
    head = table_head("", "questions", "share")
    return f"<table><caption>How questions ended</caption>{head}<tbody>{rows}</tbody></table>"


def _seconds(*measured: tuple[str, Seconds | None]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="number">{one.median:.2f} s</td>'
        f'<td class="number">{one.p90:.2f} s</td>{number_cell(one.measured)}</tr>'
        for name, one in measured
        if one
    )
    head = table_head("", "median", "nine of ten within", "measured")
    return f"<table><caption>Seconds from the question</caption>{head}<tbody>{rows}</tbody></table>"


def _answerers(answerers: Sequence[Answerer]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{_text(one.name)}</th>{number_cell(one.questions)}{number_cell(one.asked_tokens)}'
        f'{number_cell(one.answered_tokens)}<td class="number">{_cost(one)}</td></tr>'
        for one in answerers
    )
    head = table_head("Answered by", "questions", "tokens sent", "tokens received", "cost")
    said = "The cost is in the currency of <code>price</code> under <code>[sources.NAME]</code>; – stands for no price."
    table = f"<table><caption>Models</caption>{head}<tbody>{rows}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="region" aria-label="Models">{table}</div><p class="few">{said}</p>'


def _cost(answerer: Answerer) -> str:
    return "–" if answerer.cost is None else f"{answerer.cost:,.4f}"


def _hidden(dashboard: Dashboard) -> str:
    if dashboard.fewest <= 1:
        return "All groups are shown, also those that only one student asked about."
    what = "conversations" if dashboard.conversations or not dashboard.questions else "questions"
    return f"Groups of fewer than {dashboard.fewest} {what} are not shown, because they might tell who asked."
