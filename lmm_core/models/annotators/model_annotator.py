"""Annotations by a chat model, with one request for each section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ModelError
from ...logging import counted
from ..chat import Asker, Request
from ..prompts import annotate_prompt, language_of
from ..replies import find_object, one_line
from ..tokens import count_tokens
from .annotator import Annotation, AnnotatorSection

MOST_QUESTIONS = 12
MOST_CHARACTERS = 5_000


class ModelAnnotator:
    """The annotator that asks a chat model."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.name = asker.model.name

    @property
    def stopped(self) -> ModelError | None:
        """See `Annotator`."""
        return self.asker.model.stopped

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`."""
        request = make_request(section, wanted, instead)
        return await self.asker.ask(request, lambda text: read_annotation(text, wanted))

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return count_tokens(make_request(section, wanted).text)

    async def close(self) -> None:
        """See `Annotator`."""
        await self.asker.close()


def make_request(section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Request:
    """Return the request for the annotations of a section."""
    items = "\n".join(f"- {summary}" for summary in section.summaries)
    values = {
        "language": language_of(section.language),
        "titles": " > ".join(section.titles),
        "text": section.text,
        "summaries": f"\n\n<subsections>\n{items}\n</subsections>" if items else "",
    }
    return annotate_prompt(tuple(wanted)).request(values, instead)


def read_annotation(text: str, wanted: Sequence[str]) -> Annotation:
    """Return the annotation that a reply holds.

    Raise ModelError if a wanted part is missing, or too large to be an annotation."""
    found = find_object(text)
    questions = _read_questions(found.get("questions")) if "questions" in wanted else []
    summary = _read_summary(found.get("summary")) if "summary" in wanted else ""
    return Annotation(questions, summary)


def _read_questions(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ModelError(f"the reply's `questions` are not a list of texts but {_kind(value)}")
    questions = [question for question in dict.fromkeys(map(one_line, value)) if question]
    if not questions:
        raise ModelError("the reply's `questions` are empty")
    longest = max(map(len, questions))
    if len(questions) > MOST_QUESTIONS or longest > MOST_CHARACTERS:
        count = counted(len(questions), "question")
        raise ModelError(f"the reply has {count}, the longest of {longest:,} characters: not kept")
    return questions


def _read_summary(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelError(f"the reply's `summary` is not a text but {_kind(value)}")
    summary = one_line(value)
    if not summary:
        raise ModelError("the reply's `summary` is empty")
    if len(summary) > MOST_CHARACTERS:
        raise ModelError(f"the reply's summary has {len(summary):,} characters: not kept")
    return summary


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"of type {type(value).__name__}"
