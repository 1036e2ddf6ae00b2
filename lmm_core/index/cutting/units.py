"""Units: parts of a text that no chunk divides, and the limits that chunks keep to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...markdown.blocks import trim_blank_lines

# The costs of a cut after a unit; 1 is the cost of a chunk with nothing in it.
BLOCK, GOOD, PART, CLOSE, LINE, WORD, ANYWHERE = 0.0, 0.02, 0.03, 0.1, 0.4, 0.5, 1.0


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The sizes of chunks, in the unit in which `count` measures a text.

    `size` is the size that is aimed at, `max_size` the one that no chunk exceeds. `additive` says
    that the size of a text is about the sum of the sizes of its parts, so that it need not be
    counted again.
    """

    size: int
    max_size: int
    count: Callable[[str], int]
    additive: bool = False

    def of(self, text: str) -> int:
        """Return the size of a text without the blank lines around it."""
        kept = text.rstrip(" \t\r\n")
        return self.count(trim_blank_lines(kept) if kept[:1].isspace() else kept)

    def full(self, unit: Unit) -> int:
        """Return the size of a unit with the blank lines after it, which hold no tokens."""
        return unit.end - unit.start if self.count is len else unit.size

    def fits(self, text: str) -> bool:
        """Return True if a text can be a chunk."""
        return self.of(text) <= self.max_size


@dataclass(frozen=True, slots=True)
class Frame:
    """Lines that each piece of something longer repeats.

    `before` is the header of a table, or the opening line of code or of a div; `after` is the
    closing line.
    """

    before: str = ""
    after: str = ""


NO_FRAME = Frame()


@dataclass(slots=True)
class Unit:
    """A part of a text that stays whole: `text[start:end]`.

    `frame` holds the lines to repeat in a chunk that begins or ends with the unit. `cost` is the
    cost of a cut after it. `prose` says that its sentences may be repeated in the next chunk.
    `size` is the size of the text without the blank lines around it.
    """

    start: int
    end: int
    frame: Frame = NO_FRAME
    cost: float = BLOCK
    prose: bool = True
    size: int = 0
