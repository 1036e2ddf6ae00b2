"""Counts of annotated sections, by outcome."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...logging import counted
from ...models.sources import STAND_IN_NAME

NO_MODEL_ASKED = "no model was asked: set OPENAI_API_KEY, or name a model in config.toml"


@dataclass
class Tally:
    """The numbers of sections written, empty and failed, and the annotators' names."""

    written: int = 0
    empty: int = 0
    failed: int = 0
    names: set[str] = field(default_factory=set)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.written + other.written, self.empty + other.empty, self.failed + other.failed, self.names | other.names
        )

    @property
    def by_annotators(self) -> str:
        """Return the annotators used, as the end of a sentence."""
        by = f" by {', '.join(sorted(self.names))}" if self.names else ""
        return f"{by}; {NO_MODEL_ASKED}" if self.names == {STAND_IN_NAME} else by

    @property
    def left_out(self) -> str:
        """Return a sentence about sections left empty by the stand-in, or ""."""
        sections = counted(self.written + self.empty + self.failed, "section")
        return f"{self.empty} of {sections}: nothing written without a model" if self.empty else ""


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies."""
    return sum(tallies, Tally())
