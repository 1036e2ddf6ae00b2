"""Create annotators on first use, because loading a model is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...errors import ModelError
from ..sources import STAND_IN_NAME
from .annotator import Annotation, Annotator, AnnotatorSection


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

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        return await self._get().annotate(section, keys, instead)

    def cost(self, section: AnnotatorSection, keys: Sequence[str]) -> int:
        return self._get().cost(section, keys)

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

    async def annotate(self, section: AnnotatorSection, keys: Sequence[str], instead: str = "") -> Annotation:
        return Annotation(["?"], "?")

    def cost(self, section: AnnotatorSection, keys: Sequence[str]) -> int:
        return 0

    async def close(self) -> None:
        """See `Annotator`."""


def stand_in() -> Annotator:
    def make() -> Annotator:
        from .extractive import ExtractiveAnnotator

        return ExtractiveAnnotator()

    return LazyAnnotator(STAND_IN_NAME, make)
