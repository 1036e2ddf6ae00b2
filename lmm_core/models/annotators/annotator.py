"""Define the annotator protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ...errors import ModelError


@dataclass(slots=True, frozen=True)
class AnnotatorSection:
    """The section to annotate.

    titles: from the document's down
    text: markdown, including subsections without summary
    summaries: of the other subsections
    language: code, "" if unknown
    lead: the section's own text, None if equal to `text`
    types: such as `definition`"""

    titles: tuple[str, ...]
    text: str
    summaries: tuple[str, ...] = ()
    language: str = ""
    lead: str | None = None
    types: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Return titles, text and summaries, one a line."""
        return "\n".join((*self.titles, self.text, *self.summaries))


@dataclass(slots=True, frozen=True)
class Annotation:
    """A section's questions and summary, empty if there are none.

    refused: validation errors by key
    remarks: on omitted parts"""

    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: Mapping[str, ModelError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@runtime_checkable
class Annotator(Protocol):
    """The annotator protocol. name: `source/model`."""

    name: str

    @property
    def stopped(self) -> ModelError | None:
        """Return the error that makes retries useless, or None."""
        ...

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        """Return the annotations in `wanted` (`questions`, `summary`). Raise ModelError.

        instead: see `Request`."""
        ...

    def cost(self, section: AnnotatorSection, keys: Sequence[str]) -> int:
        """Return the tokens to send; 0 without a model."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
