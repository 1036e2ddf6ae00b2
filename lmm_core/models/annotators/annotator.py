"""Define the annotator protocol, and create annotators on first use, because loading a model is slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ...errors import ModelError
from ..sources import STAND_IN_NAME


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

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """Return the annotations in `wanted` (`questions`, `summary`). Raise ModelError.

        instead: see `Request`."""
        ...

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """Return the tokens to send; 0 without a model."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@dataclass
class LazyAnnotator:
    """An annotator created by `make` on first use. `make` may raise ModelError."""

    name: str
    make: Callable[[], Annotator]
    _made: Annotator | None = field(default=None, init=False)
    _failed: ModelError | None = field(default=None, init=False)

    @property
    def stopped(self) -> ModelError | None:
        return self._failed or (self._made.stopped if self._made else None)

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        return await self._get().annotate(section, wanted, instead)

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        return self._get().cost(section, wanted)

    async def close(self) -> None:
        if self._made:
            await self._made.close()

    def _get(self) -> Annotator:
        if self._failed:
            raise self._failed
        try:
            self._made = self._made or self.make()
        except ModelError as error:
            self._failed = error
            raise
        return self._made


@dataclass
class UnaskedAnnotator:
    """A placeholder that annotates everything, for dry runs. Never write its annotations."""

    name: str
    stopped: ModelError | None = None

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        return Annotation(["?"], "?")

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        return 0

    async def close(self) -> None:
        """See `Annotator`."""


def stand_in() -> Annotator:
    def make() -> Annotator:
        from .extractive import ExtractiveAnnotator

        return ExtractiveAnnotator()

    return LazyAnnotator(STAND_IN_NAME, make)
