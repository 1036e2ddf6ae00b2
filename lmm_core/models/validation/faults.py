"""Find faults in a model's text: prompt parts, chat template marks and repetitions."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate

from ..languages.words import PAIRED, find_words
from ..prompts import instructions
from ..replies import one_line

# Marks between a chat's messages, written by models with a wrong template or not made for chats
MARKS = re.compile(
    r"<\|[a-z_ ]{2,30}\|>|<\uff5c[^<>\n]{2,40}\uff5c>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>(?=\s|\Z)"
)
# Our prompts' tags, at the beginning of a line
TAGS = re.compile(
    r"^[ \t]{0,3}(?:</?(?:notes|outline|earlier|question|text|subsections|document|teacher)>|</(?:source|passage)>"
    r"|<(?:source|passage) n=)",
    re.M,
)


def echoes_instructions(text: str, length: int) -> bool:
    """Return True if a text has `length` consecutive words of our instructions."""
    return not _runs(text, length).isdisjoint(_instruction_runs(length))


@cache
def _instruction_runs(length: int) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(_runs(text, length) for text in instructions()))


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = find_words(text)
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


# Repetitions

_WORD = re.compile(rf"[{PAIRED}]|[^\W_]+")
_START = 4  # words of a first match
_COPIES = 4  # consecutive copies that make a loop
_LEAST = 24  # words in the copies, without numbers
_SHOWN = 60  # characters of a repetition in a message


def repeated_in(text: str, known: str = "") -> str:
    """Return words repeated over and over, or "". known: the request, whose repetitions do not count."""
    words = _words(text)
    last: dict[tuple[str, ...], int] = {}  # last position of the words before a place
    lettered = [0, *accumulate(not word.isdigit() for word in words)]  # words before a place, without numbers
    period = run = 0  # distance to the earlier copy, and length of the match
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


def repetition_fault(repeated: str) -> str:
    return f"it repeats itself: “{one_line(repeated)[:_SHOWN]}…”"
