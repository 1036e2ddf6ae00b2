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
_ALONE, _AMONG, _AND, _EACH, _UNTIL = (
    frozenset(_TABLES["words"][name].split()) for name in ("alone", "among", "and", "each", "until")
)
_CLOCK = re.compile(r"(?<![\d:.,])(\d{1,2}) ?(?:h ?([0-5]\d)(?: ?min\w*)?|:([0-5]\d) ?h\w*)\b", re.I)  # 1h30, 1:30 h
_AND_A_HALF = re.compile(
    r"(\d+|[^\W\d_]+)(?:\s+|')(hours?|heures?|or[ae]|horas?)\s+(?:and a half|et demie?|e mezz[ao]|y media)\b", re.I
)
_WORD = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:['-][^\W\d_]+)*|[^\w\s]")


@dataclass(frozen=True)
class StudyTime:
    """The time for studying: some sessions of some minutes each.

    unit: what a session is called (evening, day, session …); understood: the words of the
    sentence that name the time; rest: the sentence without them. If no time is named, there
    are no sessions."""

    sessions: int
    minutes: float
    unit: str
    understood: str
    rest: str


class _Named(NamedTuple):
    """A time that is named by words[start:end]."""

    unit: _TimeUnit
    number: float
    start: int
    end: int


def read_time(sentence: str) -> StudyTime:
    """Return the time that a sentence names.

    Hours beside days (`two hours a day`) are those of each session. Hours alone are divided
    into sessions of at most two."""
    words = _WORD.findall(_spelled(sentence[:2_000]))
    named = [one for at in range(len(words)) if (one := _named(words, at)) is not None]
    named = _without_deadline(words, named)
    gone = {at for one in named for at in range(one.start, one.end)}
    understood = ", ".join(" ".join(words[one.start : one.end]) for one in named)
    rest = " ".join(word for at, word in enumerate(words) if at not in gone)
    each = [one for one in named if not one.number]
    days = [one for one in named if one.number and one.unit.sessions]
    minutes = sum(one.number * one.unit.minutes for one in named if not one.unit.sessions)
    if days or (each and minutes):
        first = (each or days)[0].unit
        count = sum(one.number * one.unit.sessions for one in days) or 1.0
        length = (minutes or first.minutes) * min(count, 1)
        return StudyTime(min(max(int(count), 1), MOST_SESSIONS), length, first.name, understood, rest)
    count = min(-(-int(minutes) // SESSION), MOST_SESSIONS)
    return StudyTime(count, minutes / count if count else 0, "session", understood, rest)


def _spelled(sentence: str) -> str:
    """Return a sentence with one spelling of a time that has several: `1.5 hours`, `1 h 30 min`."""

    def half_more(found: re.Match[str]) -> str:
        word, unit = found.groups()
        return f"{_number(word) + 0.5:g} {unit}" if _number(word) else f"{word} 1.5 {unit}"

    sentence = re.sub(r"(\d) ?½", r"\1.5", sentence.replace("’", "'"))
    sentence = _CLOCK.sub(lambda found: f"{found[1]} h {found[2] or found[3]} min", sentence)
    return _AND_A_HALF.sub(half_more, sentence)


def _named(words: Sequence[str], at: int) -> _Named | None:
    """Return the time whose unit is the word at a position, or None.

    Its number is 0 if it says for what the hours are meant (`a day`)."""
    unit = _UNITS.get(words[at].lower())
    if unit is None:
        return None
    before = words[at - 1].lower() if at else ""
    if unit.sessions and (before in _EACH or (before in ("a", "an", "the") and _is_hours(words, at - 2))):
        return _Named(unit, 0, at - 1, at + 1)
    start = at
    while start and (words[start - 1].lower() in _AMONG or _number(words[start - 1])):
        start -= 1
    while start < at and words[start].lower() in _AMONG:
        start += 1
    number = _total(words[start:at])
    if not number and words[at].lower() not in _ALONE:
        return None
    return _Named(unit, number or 1, start, at + 1)


def _is_hours(words: Sequence[str], at: int) -> bool:
    unit = _UNITS.get(words[at].lower()) if at >= 0 else None
    return unit is not None and not unit.sessions


def _number(word: str) -> float:
    """Return the number that a word means, or 0."""
    if word[0].isdecimal():
        return float(word.replace(",", "."))
    return _NUMBERS.get(word.lower(), 0)


def _total(words: Sequence[str]) -> float:
    """Return the number that some words mean (`two`, `half a`, `two and a half`), or 0."""
    numbers = [number for word in words if (number := _number(word))]
    if not numbers:
        return 0
    if len(numbers) > 1 and numbers[-1] == 0.5 and not _AND.isdisjoint(word.lower() for word in words):
        return numbers[0] + 0.5
    return 0.5 if 0.5 in numbers else max(numbers)


def _without_deadline(words: Sequence[str], named: list[_Named]) -> list[_Named]:
    """Return the named times without those of a deadline.

    `in three weeks` says when the examination is if another time is named."""
    own = [one for one in named if not (one.start and words[one.start - 1].lower() in _UNTIL)]
    return own if any(one.number for one in own) else named
