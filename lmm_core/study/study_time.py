"""Parse study time in a sentence: `three evenings`, `zwei Stunden am Tag`, `un week-end`.

Understands English, German, French, Italian and Spanish by single words (study_time.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SESSION = 120  # maximal minutes if only hours are given
MOST_SESSIONS = 366


class _TimeUnit(NamedTuple):
    name: str
    sessions: int  # 0: minutes are the total
    minutes: int


_TABLES = tomllib.loads(Path(__file__).with_name("study_time.toml").read_text("utf-8"))
_UNITS = {
    word: _TimeUnit(unit["name"], unit["sessions"], unit["minutes"])
    for unit in _TABLES["unit"]
    for word in unit["words"].split()
}
_NUMBERS = {word: float(number) for number, words in _TABLES["numbers"].items() for word in words.split()}
_ALONE, _AMONG, _EACH, _UNTIL = (
    frozenset(_TABLES["words"][name].split()) for name in ("alone", "among", "each", "until")
)
_WORD = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:['’-][^\W\d_]+)*|[^\w\s]")


@dataclass(frozen=True)
class StudyTime:
    """Time for studying; no sessions if none is given.

    minutes: per session
    unit: evening, day, session …
    understood: words naming the time
    rest: other words"""

    sessions: int
    minutes: float
    unit: str
    understood: str
    rest: str


class _Named(NamedTuple):
    """A time at words[start:end]. number: 0 if it only qualifies other hours (`a day`)."""

    unit: _TimeUnit
    number: float
    start: int
    end: int


def read_time(sentence: str) -> StudyTime:
    """Return the time in a sentence.

    Hours beside days (`two hours a day`) are per session; hours alone are divided."""
    words = _WORD.findall(sentence[:2_000])
    named = [one for at in range(len(words)) if (one := _named(words, at)) is not None]
    # `in three weeks` is a deadline if another time is given
    named = [one for one in named if not (one.start and words[one.start - 1].lower() in _UNTIL)] or named
    gone = {at for one in named for at in range(one.start, one.end)}
    understood = ", ".join(" ".join(words[one.start : one.end]) for one in named)
    rest = " ".join(word for at, word in enumerate(words) if at not in gone)
    days = [one for one in named if one.unit.sessions]
    minutes = sum(one.number * one.unit.minutes for one in named if not one.unit.sessions)
    if any(one.number for one in days) or (days and minutes):
        count = sum(one.number * one.unit.sessions for one in days) or 1.0
        unit = next((one.unit for one in days if not one.number), days[0].unit)
        length = (minutes or unit.minutes) * min(count, 1)
        return StudyTime(min(max(int(count), 1), MOST_SESSIONS), length, unit.name, understood, rest)
    count = min(-(-int(minutes) // SESSION), MOST_SESSIONS)
    return StudyTime(int(count), minutes / count if count else 0, "session", understood, rest)


def _named(words: Sequence[str], at: int) -> _Named | None:
    unit = _UNITS.get(words[at].lower())
    if unit is None:
        return None
    before = words[at - 1].lower() if at else ""
    is_after_hours = at > 1 and words[at - 2].lower() in _UNITS and before in ("a", "an", "the")  # two hours a day
    if unit.sessions and (before in _EACH or is_after_hours):
        return _Named(unit, 0, at - 1, at + 1)
    start = at - 1 if at > 1 and before in _AMONG else at  # three whole days
    number = _number(words[start - 1]) if start else 0
    if not number and words[at].lower() not in _ALONE:
        return None
    return _Named(unit, number or 1, start - bool(number), at + 1)


def _number(word: str) -> float:
    if word[0].isdecimal():
        return float(word.replace(",", "."))
    return _NUMBERS.get(word.lower(), 0)
