"""Units: parts of a text that no chunk divides, and the limits that chunks keep to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..markdown.blocks import trim_blank_lines

# What cutting after a unit costs; 1 is the cost of a chunk with nothing in it.
BLOCK, GOOD, PART, CLOSE, LINE, WORD, ANYWHERE = 0.0, 0.02, 0.03, 0.1, 0.4, 0.5, 1.0


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """size: what a chunk should have, max_size: what it may have, in the unit that
    `count` counts a text in; additive: a text has about as much as its parts together, so
    that not everything has to be counted twice."""

    size: int
    max_size: int
    count: Callable[[str], int]
    additive: bool = False

    def of(self, text: str) -> int:
        """The size of a text, without the blank lines around it."""
        kept = text.rstrip(" \t\r\n")
        return self.count(trim_blank_lines(kept) if kept[:1].isspace() else kept)

    def full(self, unit: Unit) -> int:
        """The size of a unit with the blank lines after it, which are no tokens."""
        return unit.end - unit.start if self.count is len else unit.size

    def fits(self, text: str) -> bool:
        """Whether a text can be a chunk."""
        return self.of(text) <= self.max_size


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a piece of something longer repeats: the header of its table or the opening
    line of its code or div before it, the closing line after it."""

    before: str = ""
    after: str = ""


NO_FRAME = Surroundings()


@dataclass(slots=True)
class Unit:
    """A part of a text that stays whole: `text[start:end]`. `frame`: what a chunk has to
    repeat that begins or ends with it; `cost`: of cutting after it; `prose`: whether its
    sentences may be repeated in the next chunk; `size`: of the text, without the blank
    lines around it."""

    start: int
    end: int
    frame: Surroundings = NO_FRAME
    cost: float = BLOCK
    prose: bool = True
    size: int = 0
