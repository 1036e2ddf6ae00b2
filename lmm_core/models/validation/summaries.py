"""Summaries of a section: whether what a model says is one."""

from __future__ import annotations

import re

from ...errors import GateError
from ..annotators.annotator import AnnotatorSection
from ..languages.words import find_words, is_paired
from ..replies import one_line
from .echoes import echo_in, runs
from .repeats import repeated_in

MOST_CHARACTERS = 2_500
_LEAST = 4  # words of a sentence
_UNENDED = 6  # words of a sentence without a full stop
_END = re.compile(r"[.!?…。！？؟।։።][\W_]*\Z")
_BROKEN_OFF = re.compile(r"[,;:(\[{–—-]\s*\Z")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_COPY = 5  # words that follow each other as in the text
_AS_LONG = 0.85  # of the text's words


def check_summary(summary: str, section: AnnotatorSection) -> str:
    """Return a summary on one line. Raise GateError, which says why, if it is none."""
    summary = one_line(summary)
    if why := _fault(summary, section):
        raise GateError(why, summary)
    return summary


def _fault(summary: str, section: AnnotatorSection) -> str:
    words = [word for word in find_words(summary) if not word.isdigit()]
    if len(summary) > MOST_CHARACTERS:
        return f"has {len(summary):,} characters, far more than four sentences"
    if echo := echo_in(summary, section.source):
        return echo
    if not words:
        return "is a number or a sign, not a summary"
    spaced = not any(is_paired(sign) for sign in summary)
    if len(words) < _LEAST or (spaced and len(words) < _UNENDED and not _END.search(summary)):
        return "is not a whole sentence"
    if _BROKEN_OFF.search(summary):
        return "breaks off"
    sentences = [" ".join(find_words(one)) for one in _SENTENCE_END.split(summary)]
    long = [one for one in sentences if len(one) > 20]
    if repeated_in(summary) or len(long) > len(set(long)):
        return "repeats itself"
    if all(one.rstrip()[-1:] in "?？؟" for one in _SENTENCE_END.split(summary) if one.strip()):
        return "is a question"
    return "is the whole text again" if _is_copy(summary, "\n".join((section.text, *section.summaries))) else ""


def _is_copy(summary: str, text: str) -> bool:
    """Return True if a summary is the text again, but for a few words."""
    said, there = find_words(summary), find_words(text)
    if not there or len(said) < _AS_LONG * len(there):
        return False
    of_text = set(runs(there, _COPY))
    same = sum(run in of_text for run in runs(said, _COPY))
    return same > _AS_LONG * max(len(said) - _COPY + 1, 1) or said == there
