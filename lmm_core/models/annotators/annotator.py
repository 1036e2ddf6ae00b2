"""The annotator protocol: a section in, questions and a summary out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ...errors import ModelError


@dataclass(slots=True, frozen=True)
class AnnotatorSection:
    """A section as an annotator sees it.

    titles: the path of titles, the document's first; text: the section's own text as markdown, with
    that of the subsections without a summary; summaries: those of the other subsections, in order;
    language: a code such as `en` or `de-AT`, "" if unknown; lead: the own text alone, None if
    `text` is nothing else; types: the section's types, such as `definition`."""

    titles: tuple[str, ...]
    text: str
    summaries: tuple[str, ...] = ()
    language: str = ""
    lead: str | None = None
    types: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Return the whole material of the annotations: titles, text and summaries, a line each."""
        return "\n".join((*self.titles, self.text, *self.summaries))


@dataclass(slots=True, frozen=True)
class Annotation:
    """The questions and the summary of a section, empty if there are none.

    refused: errors by key for replies that were not kept; remarks: on parts left out."""

    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: Mapping[str, ModelError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@runtime_checkable
class Annotator(Protocol):
    """Anything that annotates sections. name: `source/model`."""

    name: str

    @property
    def stopped(self) -> ModelError | None:
        """Return the error after which asking again is useless, or None."""
        ...

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """Return the annotations in `wanted` (`questions`, `summary`). Raise ModelError.

        instead: see `Request`."""
        ...

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """Return the number of tokens to send; 0 without a model."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
