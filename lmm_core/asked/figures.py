"""Figures about recorded questions: how many when, how they ended, how long they took, what they cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from .turns import Outcome, RecordedTurn

OUTCOMES: tuple[Outcome, ...] = ("answered", "partly", "refused", "off_topic", "broken", "stopped")
MOST_DAYS, MOST_WEEKS = 63, 104  # that are counted one by one


def is_failure(turn: RecordedTurn) -> bool:
    """Return True for a question that the notes did not answer, only partly, or not as the student wanted."""
    return turn.outcome in ("refused", "partly") or turn.thumb < 0


@dataclass(frozen=True)
class Period:
    """Questions of a time. label: its first day, or an hour of the day; failed: those of `is_failure`."""

    label: str
    asked: int
    failed: int


@dataclass(frozen=True)
class Seconds:
    """The seconds that some answers took: how many were measured, their median, and what nine of ten stayed below."""

    measured: int
    median: float
    p90: float


@dataclass(frozen=True)
class Answerer:
    """Who answered, `source/model`, how many questions, with how many tokens, and what they cost (None: no price)."""

    name: str
    questions: int
    asked_tokens: int
    answered_tokens: int
    cost: float | None


def count_conversations(turns: Sequence[RecordedTurn]) -> int:
    """Return the number of conversations, 0 if they are not recorded."""
    return len({turn.conversation for turn in turns if turn.conversation})


def count_outcomes(turns: Sequence[RecordedTurn]) -> dict[Outcome, int]:
    """Return how many questions ended in each way."""
    counts = Counter(turn.outcome for turn in turns)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def by_date(turns: Sequence[RecordedTurn], zone: tzinfo | None) -> tuple[str, list[Period]]:
    """Return what is counted (`day`, `week` or `month`), and each of them from the first to the last question.

    zone: the time zone of the dates, None for that of this machine."""
    days = [(time.date(), turn) for turn in turns if (time := local_time(turn, zone))]
    if not days:
        return "day", []
    first, last = min(day for day, _ in days), max(day for day, _ in days)
    span = (last - first).days + 1
    unit, start, step = _unit_for(span)
    counts = Counter(start(day) for day, _ in days)
    failed = Counter(start(day) for day, turn in days if is_failure(turn))
    return unit, [Period(at.isoformat(), counts[at], failed[at]) for at in _from_to(start(first), last, step)]


_Step = Callable[[date], date]


def _unit_for(days: int) -> tuple[str, _Step, _Step]:
    """Return what to count in so many days: its name, the first day of that of a day, and the first day of the next."""
    if days <= MOST_DAYS:
        return "day", lambda day: day, lambda day: day + timedelta(1)
    if days <= 7 * MOST_WEEKS:
        return "week", lambda day: day - timedelta(day.weekday()), lambda day: day + timedelta(7)
    return "month", lambda day: day.replace(day=1), lambda day: (day.replace(day=1) + timedelta(32)).replace(day=1)


def _from_to(first: date, last: date, step: _Step) -> Iterator[date]:
    while first <= last:
        yield first
        first = step(first)


def by_hour(turns: Sequence[RecordedTurn], zone: tzinfo | None) -> list[Period]:
    """Return the questions of each hour of the day. zone: see `by_date`."""
    hours = [(time.hour, turn) for turn in turns if (time := local_time(turn, zone))]
    counts, failed = Counter(hour for hour, _ in hours), Counter(hour for hour, turn in hours if is_failure(turn))
    return [Period(f"{hour:02}:00", counts[hour], failed[hour]) for hour in range(24)]


def local_time(turn: RecordedTurn, zone: tzinfo | None) -> datetime | None:
    """Return when a question was asked, in a time zone, or None if that cannot be read. zone: see `by_date`."""
    return _local_time(turn.hour, zone)


@lru_cache(10_000)
def _local_time(hour: str, zone: tzinfo | None) -> datetime | None:
    try:
        return datetime.strptime(hour, "%Y-%m-%dT%H").replace(tzinfo=UTC).astimezone(zone)
    except (ValueError, OverflowError):
        return None


def measure_seconds(seconds: Sequence[float | None]) -> Seconds | None:
    """Return median and 90th percentile, None if nothing was measured."""
    known = sorted(one for one in seconds if one is not None)
    if not known:
        return None
    return Seconds(len(known), _percentile(known, 0.5), _percentile(known, 0.9))


def _percentile(known: Sequence[float], share: float) -> float:
    return known[max(math.ceil(share * len(known)) - 1, 0)]


def count_answerers(turns: Sequence[RecordedTurn], price: Callable[[str, int, int], float | None]) -> list[Answerer]:
    """Return who answered, the most frequent first.

    price: what tokens cost, of the name of who answered and the numbers of tokens asked and answered."""
    found = []
    for name, questions in Counter(turn.by for turn in turns if turn.by).most_common():
        own = [turn for turn in turns if turn.by == name]
        asked, answered = sum(turn.asked_tokens for turn in own), sum(turn.answered_tokens for turn in own)
        found.append(Answerer(name, questions, asked, answered, price(name, asked, answered)))
    return found
