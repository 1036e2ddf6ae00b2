"""Define the annotator protocol, and a placeholder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ...errors import ReplyError


@dataclass(slots=True, frozen=True)
class AnnotatorSection:
    """The section to annotate.

    titles: from the document's down
    text: markdown, including subsections without summary
    summaries: of the other subsections
    language: code, "" if unknown
    lead: the section's own text, None if equal to `text`"""

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


@dataclass(slots=True)
class Annotation:
    """A section's questions and summary, empty if there are none.

    refused: validation errors by key without a good part
    remarks: on omitted parts"""

    questions: list[str] = field(default_factory=list)
    summary: str = ""
    refused: dict[str, ReplyError] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    reply: str = field(default="", compare=False)


@runtime_checkable
class Annotator(Protocol):
    """The annotator protocol. name: `source/model`."""

    name: str

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        """Return the annotations in `wanted` (`questions`, `summary`). Raise ModelError.

        instead: see `Request`."""

    def cost(self, section: AnnotatorSection, keys: Sequence[str]) -> int:
        """Return the tokens to send; 0 without a model."""
        return 0

    async def close(self) -> None:
        """Close all connections."""
        return


@dataclass
class UnaskedAnnotator(Annotator):
    """A placeholder that annotates everything, for dry runs. Never write its annotations."""

    name: str

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        return Annotation(["?"], "?")
