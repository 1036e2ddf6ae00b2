"""Repetitions in a text: the loops into which weak models fall."""

from __future__ import annotations

import re
from itertools import accumulate

from ..languages.words import PAIRED
from ..replies import one_line

_WORD = re.compile(rf"[{PAIRED}]|[^\W_]+")
_START = 4  # words that a repetition is found by
_COPIES = 4  # times that the same words follow each other before it is a loop
_LEAST = 24  # words in these copies, numbers aside
_SHOWN = 60  # characters of a repetition that are told


def repeated_in(text: str, known: str = "") -> str:
    """Return the words that a text repeats over and over, or "".

    known: a text whose own repetitions are none of this one's."""
    words = _words(text)
    last: dict[tuple[str, ...], int] = {}  # where the words before a place stood last
    lettered = [0, *accumulate(not word.isdigit() for word in words)]  # words before a place, without numbers
    period = run = 0  # the words from there on, and how many have followed each other as there
    for at, word in enumerate(words):
        start = tuple(words[max(at - _START + 1, 0) : at + 1])
        if period and words[at - period] == word:
            run += 1
        else:
            period = at - last[start] if start in last else 0
            run = _START
        last[start] = at
        if period and run >= (_COPIES - 1) * period and lettered[at + 1] - lettered[at + 1 - run] >= _LEAST:
            repeated = " ".join(words[at - period + 1 : at + 1][:40])
            if " ".join(_words(known)).count(repeated) < 2:
                return repeated
            period = 0
    return ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def told_repetition(repeated: str) -> str:
    """Return what is wrong with an answer that repeats some words, for a message."""
    return f"it repeats itself: “{one_line(repeated)[:_SHOWN]}…”"
