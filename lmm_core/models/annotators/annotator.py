"""The annotator protocol: what a section shows, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ...errors import ModelError
from ..sources import STAND_IN_NAME


@dataclass(slots=True, frozen=True)
class AnnotatorSection:
    """What an annotator sees: the titles path (document first), the section's own
    text as markdown, the summaries of its subsections in their order, and the
    language (`en`, `de-AT`, …; "" where none is said)."""

    titles: tuple[str, ...]
    text: str
    summaries: tuple[str, ...] = ()
    language: str = ""


@dataclass(slots=True, frozen=True)
class Annotation:
    """What an annotator says; nothing where it has nothing to say."""

    questions: list[str] = field(default_factory=list)
    summary: str = ""


@runtime_checkable
class Annotator(Protocol):
    """Anything that annotates sections. `name` is `source/model`; `stopped` is the
    error after which it is of no use to ask for more."""

    name: str

    @property
    def stopped(self) -> ModelError | None: ...

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """What is `wanted` of a section: `questions` that it answers, its `summary`.
        `instead` tells a new asking for the same from the one before (see `Request`).
        Raises ModelError."""
        ...

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """The tokens that would be sent; 0 where no model is asked."""
        ...

    async def close(self) -> None:
        """Let connections go."""
        ...


@dataclass
class Deferred:
    """An annotator that is made when it is first asked: what it needs takes time to
    import, and most runs have nothing to ask. `make` may raise ModelError."""

    name: str
    make: Callable[[], Annotator]
    _made: Annotator | None = field(default=None, init=False)
    _failed: ModelError | None = field(default=None, init=False)

    @property
    def stopped(self) -> ModelError | None:
        """See `Annotator`."""
        return self._failed or (self._made.stopped if self._made else None)

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`."""
        return await self._get().annotate(section, wanted, instead)

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return self._get().cost(section, wanted)

    async def close(self) -> None:
        """See `Annotator`."""
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


def stand_in() -> Annotator:
    """The annotator that needs no model."""

    def make() -> Annotator:
        from .extractive import ExtractiveAnnotator

        return ExtractiveAnnotator()

    return Deferred(STAND_IN_NAME, make)
