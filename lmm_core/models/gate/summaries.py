"""Summaries of a section: whether what a model says is one."""

from __future__ import annotations

import re

from ...errors import GateError
from ..annotators.annotator import AnnotatorSection
from ..replies import one_line
from .echoes import echo_in, runs
from .languages import all_frequent_words, is_other_language
from .questions import is_question
from .repeats import repeated_in
from .words import Subject, fold, lettered, scripts_in, words_in

MOST_CHARACTERS = 2_500
_LEAST = 4  # words of a sentence
_UNENDED = 6  # words of a sentence without a full stop
_LEAST_UNSPACED = 8  # letters of a sentence in a script without spaces
_END = re.compile(r"[.!?…。！？؟।։።][\W_]*\Z")
_BROKEN_OFF = re.compile(
    r"(?:[,;:(\[{–—-]|\b(?:the|an?|of|and|or|between|with|from|der|den|dem|und|oder|von|zwischen|les?|une?|des?|du|et|ou|"
    r"entre|el|los|las|y|и|или|между))\s*\Z",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")
_COPY = 5  # words that follow each other as in the text
_AS_LONG = 0.85  # of the text's words


def check_summary(summary: str, section: AnnotatorSection) -> str:
    """Return a summary on one line. Raise GateError, which says why, if it is none of the section."""
    summary = one_line(summary)
    if why := _fault(summary, section):
        raise GateError(why, summary)
    return summary


def _fault(summary: str, section: AnnotatorSection) -> str:
    if not summary:
        return "is empty"
    if len(summary) > MOST_CHARACTERS:
        return f"has {len(summary):,} characters, far more than four sentences"
    return echo_in(summary, section.source) or _form_fault(summary) or _content_fault(summary, section)


def _form_fault(summary: str) -> str:
    words = lettered(summary)
    unspaced = scripts_in(summary)["Han"] + scripts_in(summary)["Thai"] >= _LEAST_UNSPACED
    if not words:
        return "is a number or a sign, not a summary"
    ended = _END.search(summary) is not None
    if not unspaced and (len(words) < _LEAST or (not ended and len(words) < _UNENDED)):
        return "is not a whole sentence"
    if _BROKEN_OFF.search(summary):
        return "breaks off"
    if repeated_in(summary) or _says_again(summary):
        return "repeats itself"
    sentences = [one for one in _SENTENCE_END.split(summary) if one.strip()]
    return "is a question" if all(one.rstrip()[-1:] in "?？؟" and is_question(one) for one in sentences) else ""


def _says_again(summary: str) -> bool:
    sentences = [" ".join(words_in(fold(one))) for one in _SENTENCE_END.split(summary)]
    long = [one for one in sentences if len(one) > 20]
    return len(long) > len(set(long))


def _content_fault(summary: str, section: AnnotatorSection) -> str:
    texts = (section.text, *section.summaries)
    if is_other_language(summary, section.source, section.language):
        return "is not in the language of the text"
    if is_copy(summary, "\n".join(texts)):
        return "is the whole text again"
    if not Subject((*section.titles, *texts)).shared(summary, all_frequent_words(section.source, section.language)):
        return "says nothing of what the section is about"
    return ""


def is_copy(summary: str, text: str) -> bool:
    """Return True if a summary is the text again, but for a few words."""
    said, there = words_in(fold(summary)), words_in(fold(text))
    if not there or len(said) < _AS_LONG * len(there):
        return False
    of_text = set(runs(there, _COPY))
    same = sum(run in of_text for run in runs(said, _COPY))
    return same > _AS_LONG * max(len(said) - _COPY + 1, 1) or said == there
