"""Replies with a section's annotations: read, and checked for texts that are no questions or no summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import GateError, ModelError
from ...logging import counted
from ..annotators.annotator import AnnotatorSection
from ..languages.words import find_words
from ..replies import find_object, one_line, shown
from .faults import MARKS, TAGS, echoes_instructions, repeated_in

MOST_QUESTIONS = 12
MOST_IN_QUESTION, MOST_IN_SUMMARY = 600, 2_500  # characters
_ECHO = 8  # words of our instructions, one after the other, that no short text has by chance
_LABEL = re.compile(r"\W{0,4}(?:question|q|summary)\s*\d{0,3}\s*[*_]{0,2}[.:)][*_]{0,2}\s+(?=\S)", re.I)
_NUMBER = re.compile(r"\(?\d{1,3}[.):]\s+(?=\D)")
_ASKS = re.compile("[?？؟⁇‽⸮՞፧]|[;\u037e]\\s*\\Z")  # the semicolon asks in Greek
_LEAST = 4  # words of a summary, and of a task, which has no question mark ("Explain why residuals scatter.")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")


@dataclass
class CheckedReply:
    """A reply after its check: what is good of the wanted keys, and what is wrong with the rest.

    said: the reply itself; refused: for each wanted key of which nothing is good, why; remarks: on what was left out
    of the others."""

    said: str
    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: dict[str, GateError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def check_reply(text: str, section: AnnotatorSection, wanted: Sequence[str]) -> CheckedReply:
    """Return what a reply holds of the wanted keys."""
    checked = CheckedReply(text)
    try:
        found = {key.lower().strip(): value for key, value in find_object(text).items()}
    except ModelError as error:
        checked.refused = dict.fromkeys(wanted, GateError(str(error)))
        return checked
    for key, check in (("questions", _check_questions), ("summary", _check_summary)):
        if key in wanted:
            try:
                check(found.get(key), section, checked)
            except GateError as error:
                checked.refused[key] = error
    return checked


def described(fault: GateError) -> str:
    """Return what is wrong with something that a model said, and its words, shortened."""
    return f"{shown(fault.said)} {fault}" if fault.said else str(fault)


def _check_questions(value: Any, section: AnnotatorSection, checked: CheckedReply) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GateError("the reply's `questions` are not a list of texts")
    questions = without_labels([question for question in map(one_line, value) if question])
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise GateError(f"the reply has {counted(len(questions), 'question')}")
    good, faults = dict[str, str](), []
    for question in questions:
        words = " ".join(find_words(question))
        if why := _question_fault(question, section.source) or ("stands there already" if words in good else ""):
            faults.append(GateError(why, question))
        else:
            good[words] = question
    if not good:
        raise faults[0]
    checked.questions = list(good.values())
    if faults:
        left_out = "; ".join(map(described, faults))
        checked.remarks = (f"{len(faults)} of {counted(len(questions), 'question')} left out: {left_out}",)


def _check_summary(value: Any, section: AnnotatorSection, checked: CheckedReply) -> None:
    if not isinstance(value, str) or not one_line(value):
        raise GateError("the reply's `summary` is not a text")
    [summary] = without_labels([one_line(value)])
    if why := _summary_fault(summary, section.source):
        raise GateError(why, summary)
    checked.summary = summary


def without_labels(texts: Sequence[str]) -> list[str]:
    """Return texts without what numbers or names them: `Question 2:`, or `1.` where each has a number."""
    pattern = _NUMBER if len(texts) > 1 and all(map(_NUMBER.match, texts)) else _LABEL
    return [pattern.sub("", text, count=1) if pattern.match(text) else text for text in texts]


def _question_fault(question: str, source: str) -> str:
    """Return what is wrong with a question, or "". source: what it is about."""
    lettered = sum(not word.isdigit() for word in find_words(question))
    if lettered < (2 if _ASKS.search(question) else _LEAST):
        return "is not a question"
    return _fault(question, source, MOST_IN_QUESTION)


def _summary_fault(summary: str, source: str) -> str:
    sentences = [one for one in _SENTENCE_END.split(summary) if len(one) > 20]
    if sum(not word.isdigit() for word in find_words(summary)) < _LEAST:
        return "is not a whole sentence"
    return "repeats itself" if len(sentences) > len(set(sentences)) else _fault(summary, source, MOST_IN_SUMMARY)


def _fault(text: str, source: str, most: int) -> str:
    """Return why a text is no annotation, or "". source: a mark that also stands there may be what it tells of."""
    if len(text) > most:
        return f"has {len(text):,} characters"
    if mark := next((found[0] for found in MARKS.finditer(text) if found[0] not in source), ""):
        return f"holds a mark of a chat template ({mark}): the server uses a wrong one, or the model is not for chats"
    if TAGS.search(text) or echoes_instructions(text, _ECHO):
        return "repeats the prompt"
    return "repeats itself" if repeated_in(text) else ""
