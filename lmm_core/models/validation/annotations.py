"""Validate replies with a section's annotations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import ModelError, ReplyError
from ...logging import counted
from ..annotators.annotator import AnnotatorSection
from ..languages.words import find_words
from ..replies import find_object, one_line, shown
from .faults import MARKS, TAGS, echoes_instructions, repeated_in

MOST_QUESTIONS = 12
MOST_IN_QUESTION, MOST_IN_SUMMARY = 600, 2_500  # characters
_ECHO = 8  # consecutive words of our instructions that no short text has by chance
_LABEL = re.compile(r"\W{0,4}(?:question|q|summary)\s*\d{0,3}\s*[*_]{0,2}[.:)][*_]{0,2}\s+(?=\S)", re.I)
_NUMBER = re.compile(r"\(?\d{1,3}[.):]\s+(?=\D)")
_ASKS = re.compile("[?？؟⁇‽⸮՞፧]|[;\u037e]\\s*\\Z")  # the semicolon asks in Greek
_LEAST = 4  # words of a summary, and of a task without question mark ("Explain why residuals scatter.")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")


@dataclass
class CheckedReply:
    """A checked reply: the good parts of the wanted keys.

    said: the reply
    refused: faults by key without a good part
    remarks: on omitted parts"""

    said: str
    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: dict[str, ReplyError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def check_reply(text: str, section: AnnotatorSection, wanted: Sequence[str]) -> CheckedReply:
    checked = CheckedReply(text)
    try:
        values = {key.lower().strip(): value for key, value in find_object(text).items()}
    except ModelError as error:
        checked.refused = dict.fromkeys(wanted, ReplyError(str(error)))
        return checked
    for key, check in (("questions", _check_questions), ("summary", _check_summary)):
        if key in wanted:
            try:
                check(values.get(key), section, checked)
            except ReplyError as error:
                checked.refused[key] = error
    return checked


def described(fault: ReplyError) -> str:
    """Return a fault with the model's words, shortened."""
    return f"{shown(fault.quote)} {fault}" if fault.quote else str(fault)


def _check_questions(value: Any, section: AnnotatorSection, checked: CheckedReply) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ReplyError("the reply's `questions` are not a list of texts")
    questions = without_labels([question for question in map(one_line, value) if question])
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise ReplyError(f"the reply has {counted(len(questions), 'question')}")
    good, faults = dict[str, str](), []
    for question in questions:
        words = " ".join(find_words(question))
        if why := _question_fault(question, section.source) or ("stands there already" if words in good else ""):
            faults.append(ReplyError(why, question))
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
        raise ReplyError("the reply's `summary` is not a text")
    [summary] = without_labels([one_line(value)])
    if why := _summary_fault(summary, section.source):
        raise ReplyError(why, summary)
    checked.summary = summary


def without_labels(texts: Sequence[str]) -> list[str]:
    """Remove labels (`Question 2:`), or numbers (`1.`) if all texts have one."""
    pattern = _NUMBER if len(texts) > 1 and all(map(_NUMBER.match, texts)) else _LABEL
    return [pattern.sub("", text, count=1) if pattern.match(text) else text for text in texts]


def _question_fault(question: str, source: str) -> str:
    """Return a question's fault, or "". source: the section."""
    lettered = sum(not word.isdigit() for word in find_words(question))
    if lettered < (2 if _ASKS.search(question) else _LEAST):
        return "is not a question"
    return _fault(question, source, MOST_IN_QUESTION)


def _summary_fault(summary: str, source: str) -> str:
    sentences = [part for part in _SENTENCE_END.split(summary) if len(part) > 20]
    if sum(not word.isdigit() for word in find_words(summary)) < _LEAST:
        return "is not a whole sentence"
    return "repeats itself" if len(sentences) > len(set(sentences)) else _fault(summary, source, MOST_IN_SUMMARY)


def _fault(text: str, source: str, most: int) -> str:
    """Return an annotation's fault, or "". source: the section, whose subject may be marks."""
    if len(text) > most:
        return f"has {len(text):,} characters"
    if mark := next((match[0] for match in MARKS.finditer(text) if match[0] not in source), ""):
        return f"holds a mark of a chat template ({mark}): the server uses a wrong one, or the model is not for chats"
    if TAGS.search(text) or echoes_instructions(text, _ECHO):
        return "repeats the prompt"
    return "repeats itself" if repeated_in(text) else ""
