"""Replies with a section's annotations: read in whatever form they come, and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import GateError, ModelError
from ...logging import counted
from ..annotators.annotator import AnnotatorSection
from ..replies import find_object, one_line, shown
from .questions import check_questions
from .summaries import check_summary

MOST_QUESTIONS = 12
MOST_CHARACTERS = 5_000  # of a question or a summary, however bad
_ITEM = re.compile(r"[ \t]*(?:[-*+•–]|\(?\d{1,3}[.):]|[a-h][.)])[ \t]+(\S.*)")
_LABEL = re.compile(r"\W{0,4}(?:question\s*\d{0,3}|[^\W\d_]{1,10}\s*\d{1,3})\s*[.:)][*_]{0,2}\s+(?=\S)", re.I)
_NUMBER = re.compile(r"\(?\d{1,3}[.):]\s+(?=\D)")
_SUMMARY_LABEL = re.compile(r"\W{0,4}summary[*_]{0,2}\s*[:：][*_]{0,2}\s*", re.I)


@dataclass
class CheckedReply:
    """A reply after its check: what is good of the wanted keys, and what is wrong with the rest.

    refused: for each wanted key of which nothing is good, why; remarks: on what was left out of
    the others; said: the reply itself, where something is refused."""

    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: dict[str, GateError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    said: str = ""


def check_reply(text: str, section: AnnotatorSection, wanted: Sequence[str]) -> CheckedReply:
    """Return what a reply holds of the wanted keys. Raise ModelError if it cannot be read at all."""
    found = read_reply(text, wanted)
    checked = CheckedReply()
    if "questions" in wanted:
        _check_questions(found, section, checked)
    if "summary" in wanted:
        _check_summary(found, section, checked)
    checked.said = text if checked.refused else ""
    return checked


def _check_questions(found: Mapping[str, Any], section: AnnotatorSection, checked: CheckedReply) -> None:
    try:
        said = read_questions(found.get("questions"))
    except ModelError as error:
        checked.refused["questions"] = GateError(str(error))
        return
    checked.questions, faults = check_questions(said, section)
    if not checked.questions:
        checked.refused["questions"] = faults[0]
    elif faults:
        told = f"{len(faults)} of {counted(len(said), 'question')} left out: {described(faults[0])}"
        checked.remarks = (told,)


def _check_summary(found: Mapping[str, Any], section: AnnotatorSection, checked: CheckedReply) -> None:
    try:
        checked.summary = check_summary(read_summary(found.get("summary")), section)
    except GateError as error:
        checked.refused["summary"] = error
    except ModelError as error:
        checked.refused["summary"] = GateError(str(error))


def described(fault: GateError) -> str:
    """Return what is wrong with something that a model said, and its words, shortened."""
    if not fault.said:
        return str(fault)
    return f"{shown(fault.said)} {fault}"


# Reading


def read_reply(text: str, wanted: Sequence[str]) -> Mapping[str, Any]:
    """Return what a reply says for the wanted keys: a JSON object, a list, or a text.

    Raise ModelError if it is none of these."""
    try:
        found = find_object(text)
    except ModelError:
        if found_list := _read_list(text, wanted):
            return found_list
        raise
    return {**{key.lower().strip(): value for key, value in found.items()}, **found}


def _read_list(text: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the questions and the summary of a reply that is no object, but a list or plain text."""
    found: dict[str, Any] = {}
    lines = [line.strip() for line in text[: 20 * MOST_CHARACTERS].splitlines()]
    questions = _items(text, lines)
    if "questions" in wanted and questions:
        found["questions"] = questions
    labelled = next((line[match.end() :] for line in lines if (match := _SUMMARY_LABEL.match(line))), "")
    if "summary" in wanted and labelled:
        found["summary"] = labelled
    elif list(wanted) == ["summary"] and not questions and "{" not in text:
        found["summary"] = " ".join(lines)
    return {key: value for key, value in found.items() if value}


def _items(text: str, lines: Sequence[str]) -> list[str]:
    """Return the items of a JSON list or a markdown list, or the lines that ask."""
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end:
        try:
            given = json.loads(text[start : end + 1], strict=False)
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, list) and all(isinstance(item, str) for item in given):
            return given
    items = [match[1] for line in lines if (match := _ITEM.fullmatch(line))]
    return items or [line for line in lines if line.endswith(("?", "？", "؟"))]


def read_questions(value: Any) -> list[str]:
    """Return the questions that a reply gives, each on one line and without its number. Raise ModelError."""
    given = _listed(value)
    if given is None or not all(isinstance(item, str) for item in given):
        raise ModelError(f"the reply's `questions` are not a list of texts but {_kind(value)}")
    found = without_labels([question for question in dict.fromkeys(map(one_line, given)) if question])
    if not found:
        raise ModelError("the reply's `questions` are empty")
    longest = max(map(len, found))
    if len(found) > MOST_QUESTIONS or longest > MOST_CHARACTERS:
        count = counted(len(found), "question")
        raise ModelError(f"the reply has {count}, the longest of {longest:,} characters: not kept")
    return found


def _listed(value: Any) -> list[Any] | None:
    """Return the items of a list in one of the forms in which models give it, or None."""
    if isinstance(value, str) and value.strip():
        lines = value.strip().splitlines()
        return [match[1] if (match := _ITEM.fullmatch(line)) else line for line in lines if line.strip()]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return None
    return [one["question"] if isinstance(one, dict) and isinstance(one.get("question"), str) else one for one in value]


def without_labels(questions: Sequence[str]) -> list[str]:
    """Return questions without what numbers them: `Question 2:`, or `1.` where each has a number."""
    numbered = len(questions) > 1 and all(map(_NUMBER.match, questions))
    pattern = _NUMBER if numbered else _LABEL
    return [question[found.end() :] if (found := pattern.match(question)) else question for question in questions]


def read_summary(value: Any) -> str:
    """Return the summary that a reply gives, on one line and without a label. Raise ModelError."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise ModelError(f"the reply's `summary` is not a text but {_kind(value)}")
    line = one_line(value)
    summary = line[match.end() :] if (match := _SUMMARY_LABEL.match(line)) else line
    if not summary:
        raise ModelError("the reply's `summary` is empty")
    if len(summary) > MOST_CHARACTERS:
        raise ModelError(f"the reply's summary has {len(summary):,} characters: not kept")
    return summary


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"of type {type(value).__name__}"
