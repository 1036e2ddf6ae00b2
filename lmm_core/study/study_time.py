"""The time that a sentence names: `three evenings`, `zwei Stunden am Tag`, `un week-end`.

English, German, French, Italian and Spanish are understood, by their words alone (study_time.toml).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

SESSION = 120  # minutes at most, if only hours are named
MOST_SESSIONS = 366


class _TimeUnit(NamedTuple):
    name: str
    sessions: int  # 0: the minutes are those of all
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
    """The time for studying: some sessions of some minutes each; no sessions if no time is named.

    unit: what a session is called (evening, day, session …); understood: the words of the
    sentence that name the time; rest: the sentence without them."""

    sessions: int
    minutes: float
    unit: str
    understood: str
    rest: str


class _Named(NamedTuple):
    """A time that is named by words[start:end]. number: 0 if it says for what the hours are meant (`a day`)."""

    unit: _TimeUnit
    number: float
    start: int
    end: int


def read_time(sentence: str) -> StudyTime:
    """Return the time that a sentence names.

    Hours beside days (`two hours a day`) are those of each session. Hours alone are divided
    into sessions of at most two."""
    words = _WORD.findall(sentence[:2_000])
    named = [one for at in range(len(words)) if (one := _named(words, at)) is not None]
    # `in three weeks` says when the examination is if another time is named
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
    """Return the time whose unit is the word at a position, or None."""
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
    """Return the number that a word means, or 0."""
    if word[0].isdecimal():
        return float(word.replace(",", "."))
    return _NUMBERS.get(word.lower(), 0)
