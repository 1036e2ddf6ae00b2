"""Validate replies before they are written or shown.

Faults are parts of the prompt, marks of a chat template, repetitions, missing keys, empty texts and labels. In doubt a
reply passes, since a good one would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from ..errors import CutOffError, ModelError, ReplyError
from ..logging import counted
from .annotators.annotator import Annotation, AnnotatorSection
from .chat import Request, Show
from .languages.words import PAIRED, find_words
from .prompts import instructions
from .replies import find_object, one_line, shown

# Marks between the messages of a chat, written by a model with a wrong template, or not for chats
MARKS = re.compile(
    r"<\|[a-z_ ]{2,30}\|>|<\uff5c[^<>\n]{2,40}\uff5c>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>(?=\s|\Z)"
)
# Tags of our prompts, at the beginning of a line
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
_START = 4  # words with which a repetition is recognized
_COPIES = 4  # copies in a row that count as a fault
_LEAST_REPEATED = 24  # words in these copies, without numbers
_SHOWN = 60  # characters of a repetition in a message


def repeated_in(text: str, request: str = "") -> str:
    """Return the words that a text repeats over and over, or "". Repetitions in `request` do not count."""
    words = _words(text)
    last: dict[tuple[str, ...], int] = {}  # last position of the words before a place
    lettered = [0, *accumulate(not word.isdigit() for word in words)]  # words before a place, without numbers
    period = run = 0  # distance to the earlier copy, length of the match
    for at, word in enumerate(words):
        start = tuple(words[max(at - _START + 1, 0) : at + 1])
        if period and words[at - period] == word:
            run += 1
        else:
            period = at - last[start] if start in last else 0
            run = _START
        last[start] = at
        if period and run >= (_COPIES - 1) * period and lettered[at + 1] - lettered[at + 1 - run] >= _LEAST_REPEATED:
            repeated = " ".join(words[at - period + 1 : at + 1][:40])
            if " ".join(_words(request)).count(repeated) < 2:
                return repeated
            period = 0
    return ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def repetition_fault(repeated: str) -> str:
    """Return the message about repeated words."""
    return f"it repeats itself: “{one_line(repeated)[:_SHOWN]}…”"


# Annotations


MOST_QUESTIONS = 12
MOST_IN_QUESTION, MOST_IN_SUMMARY = 600, 2_500  # characters
_ECHO_IN_ANNOTATION = 8  # consecutive words of our instructions, not by chance in a short text
_LABEL = re.compile(r"\W{0,4}(?:question|q|summary)\s*\d{0,3}\s*[*_]{0,2}[.:)][*_]{0,2}\s+(?=\S)", re.I)
_NUMBER = re.compile(r"\(?\d{1,3}[.):]\s+(?=\D)")
_ASKS = re.compile("[?？؟⁇‽⸮՞፧]|[;\u037e]\\s*\\Z")  # the semicolon asks in Greek
_LEAST = 4  # words of a summary, and of a task ("Explain why residuals scatter.")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s*")


def check_reply(text: str, section: AnnotatorSection, keys: Sequence[str]) -> Annotation:
    """Return a reply's good parts, and the fault of each key without one."""
    checked = Annotation(reply=text)
    try:
        values = {key.lower().strip(): value for key, value in find_object(text).items()}
    except ModelError as error:
        checked.refused = dict.fromkeys(keys, ReplyError(str(error)))
        return checked
    for key, check in (("questions", _check_questions), ("summary", _check_summary)):
        if key in keys:
            try:
                check(values.get(key), section, checked)
            except ReplyError as error:
                checked.refused[key] = error
    return checked


def described(fault: ReplyError) -> str:
    """Return a message about a fault that quotes the model's words."""
    return f"{shown(fault.quote)} {fault}" if fault.quote else str(fault)


def _check_questions(value: Any, section: AnnotatorSection, checked: Annotation) -> None:
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


def _check_summary(value: Any, section: AnnotatorSection, checked: Annotation) -> None:
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
    """Return the fault of an annotation, or "". Marks may occur in the section's text `source`."""
    if len(text) > most:
        return f"has {len(text):,} characters"
    if mark := next((match[0] for match in MARKS.finditer(text) if match[0] not in source), ""):
        return f"holds a mark of a chat template ({mark}): the server uses a wrong one, or the model is not for chats"
    if TAGS.search(text) or echoes_instructions(text, _ECHO_IN_ANNOTATION):
        return "repeats the prompt"
    return "repeats itself" if repeated_in(text) else ""


# Answers


_ECHO_IN_ANSWER = 12  # consecutive words of our instructions, not by chance in an answer
_STEP = 200  # characters between checks, in addition to a quarter of the text
_CODE_AND_TABLES = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)|`[^`\n]*`?|^(?: {4}|\t|\|)[^\n]*", re.M | re.S)


class AnswerWatch:
    """Checks an answer while it arrives.

    tags: False if tags of the prompt may enclose the answer"""

    def __init__(self, request: Request, tags: bool = True) -> None:
        self._shown = "\n".join(message.content for message in request.messages if message.role != "system")
        self._tags = tags
        self.stopped = False
        self._text = ""
        self._next = _STEP

    def around(self, show: Show | None) -> Callable[[str], None] | None:
        """Return a function that checks a part, raising CutOffError for a faulty answer, before it calls `show`."""
        if show is None:
            return None

        def watch(part: str) -> None:
            line_start = self._text.rfind("\n") + 1
            self._text += part
            if len(self._text) >= self._next or self._may_be_prompt(self._text[line_start:]):
                self._next = len(self._text) + len(self._text) // 4 + _STEP
                self.check(self._text)
            show(part)

        return watch

    def _may_be_prompt(self, line: str) -> bool:
        return bool(MARKS.search(line) or (self._tags and TAGS.search(line)))

    def check(self, text: str) -> str:
        """Return an answer unchanged. Raise CutOffError if it repeats itself or the prompt."""
        if why := self._fault(_CODE_AND_TABLES.sub(" ", text)):
            self.stopped = True
            raise CutOffError(f"the answer was stopped, since {why}", text)
        return text

    def _fault(self, prose: str) -> str:
        if repeated := repeated_in(prose, self._shown):
            return repetition_fault(repeated)
        marks = [match[0] for match in MARKS.finditer(prose) if match[0] not in self._shown]
        tags = [match[0].strip() for match in TAGS.finditer(prose)] if self._tags else []
        if marks := marks + [tag for tag in tags if not self._is_known(tag)]:
            return f"it holds parts of the prompt ({marks[0]})"
        return "it repeats what the model was told to do" if echoes_instructions(prose, _ECHO_IN_ANSWER) else ""

    def _is_known(self, tag: str) -> bool:
        """Return True if a tag occurs inside the prompt's texts (in `<text>` unescaped), not only around them."""
        return tag.replace("<", "<\\", 1) in self._shown or ("text" in tag and self._shown.count(tag) > 1)
