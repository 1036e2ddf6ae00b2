"""Questions about a section: which of those that a model gives are any."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import GateError
from ..annotators.annotator import AnnotatorSection
from ..languages.words import find_words, is_paired
from ..replies import one_line
from .echoes import echo_in
from .repeats import repeated_in

MOST_CHARACTERS = 600
_MARK = re.compile("[?？؟⁇‽⸮՞፧]|[;\u037e]\\s*\\Z")  # the semicolon asks in Greek
_LEAST = 4  # words of a task, which has no question mark ("Explain why residuals scatter.")
_NUMBER = re.compile(r"[\W\d_]*(?:[A-Za-z]?[\W\d_]*)\Z")


def check_questions(questions: Sequence[str], section: AnnotatorSection) -> tuple[list[str], list[GateError]]:
    """Return the questions that are good, each once and on one line, and what is wrong with the others."""
    good: dict[str, str] = {}
    faults = []
    for question in map(one_line, questions):
        words = " ".join(find_words(question))
        why = _fault(question, section.source) or ("stands there already" if words in good else "")
        if why:
            faults.append(GateError(why, question))
        else:
            good[words] = question
    return [*good.values()], faults


def _fault(question: str, source: str) -> str:
    """Return what is wrong with a question, or "". source: what it is about."""
    words = find_words(question)
    if len(question) > MOST_CHARACTERS:
        return f"has {len(question):,} characters"
    if _NUMBER.match(question):
        return "is a number or a sign, not a question"
    if echo := echo_in(question, source):
        return echo
    lettered = sum(not word.isdigit() for word in words)
    if not _MARK.search(question) and lettered < _LEAST:
        return "is not a question"
    if lettered < 2 and not any(is_paired(sign) for sign in question):
        return "is one word, not a whole question"
    stutters = len(words) >= 12 and len(set(words)) * 3 < len(words)
    return "repeats itself" if stutters or repeated_in(question) else ""
