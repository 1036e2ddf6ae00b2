"""Annotators that are made when first asked: loading a model takes time, and most runs have nothing to ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import ModelError
from ..sources import STAND_IN_NAME
from .annotator import Annotation, Annotator, AnnotatorSection


@dataclass
class LazyAnnotator:
    """An annotator made by `make` when first asked. `make` may raise ModelError."""

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


@dataclass
class UnaskedAnnotator:
    """A placeholder for a model that is not asked, which annotates everything, to tell what the model would be asked.

    Its annotations are not for writing."""

    name: str
    stopped: ModelError | None = None

    async def annotate(self, section: AnnotatorSection, wanted: Sequence[str], instead: str = "") -> Annotation:
        """See `Annotator`."""
        return Annotation(["?"], "?")

    def cost(self, section: AnnotatorSection, wanted: Sequence[str]) -> int:
        """See `Annotator`."""
        return 0

    async def close(self) -> None:
        """See `Annotator`."""


def stand_in() -> Annotator:
    """Return the annotator that needs no model."""

    def make() -> Annotator:
        from .extractive import ExtractiveAnnotator

        return ExtractiveAnnotator()

    return LazyAnnotator(STAND_IN_NAME, make)
