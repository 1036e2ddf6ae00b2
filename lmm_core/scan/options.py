"""Options of the RAG pass, by the names of LM markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_type_hints


@dataclass(frozen=True, slots=True)
class ScanOpts:
    """Which annotations are made, and from how many words of text on.

    titles: the titles path of each section; questions, summaries: by the
    annotator; textid, headingid: numbers for text blocks and headings
    (`docid.3`, `docid.h2`), textUUID, headingUUID: UUIDs made of them (and so
    the numbers too); remove_messages: chat and edit keys are removed first."""

    titles: bool = False
    questions: bool = True
    summaries: bool = True
    questions_threshold: int = 15
    summary_threshold: int = 50
    textid: bool = False
    headingid: bool = False
    textUUID: bool = False
    headingUUID: bool = False
    remove_messages: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        for name in ("questions_threshold", "summary_threshold"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is a number of words: 0 or more, not {getattr(self, name)}")

    def _check_types(self) -> None:
        """Values of other types are made ones of the right type, or are errors, by
        pydantic; which is not imported where all are right."""
        wrong = {
            name: getattr(self, name)
            for name, kind in get_type_hints(type(self)).items()
            if type(getattr(self, name)) is not kind
        }
        if wrong:
            from pydantic import TypeAdapter

            for name, value in wrong.items():
                object.__setattr__(self, name, TypeAdapter(get_type_hints(type(self))[name]).validate_python(value))
