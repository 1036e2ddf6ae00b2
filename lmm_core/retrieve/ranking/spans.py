"""Cut passages into spans for ranking and display: sentences, items, rows, blocks of code.

In a passage of 200 tokens often one or two sentences answer a question. Spans are cut on a hit, and not stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ...indexing.cutting.pieces import Piece, add_frame, cut_text
from ...indexing.cutting.units import NO_FRAME, ChunkLimits, Frame
from ...indexing.passages import Passage
from ...markdown.blocks import trim_blank_lines
from .weights import MOST, SIZE

_PADDING = re.compile(r"(?<! ) {2,}(?=\|)|(?<=[|:-])-{4,}")  # in table cells
SPREAD = 5  # hits from distant passages
NEAR = 3  # passages; farther away in a long section, the subject is another


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a passage: `passage.text[start:end]`. frame: repeated lines around it, such as the table head."""

    passage: Passage
    start: int
    end: int
    frame: Frame = NO_FRAME
    score: float = 0.0

    @property
    def id(self) -> str:
        return f"{self.passage.id}:{self.start}-{self.end}"

    @property
    def text(self) -> str:
        """The text in its frame, without surrounding blank lines."""
        return trim_blank_lines(add_frame(self.passage.text[self.start : self.end], self.frame)).rstrip()

    @property
    def line_start(self) -> int:
        """The first line, from 1."""
        return min(self.passage.line_start + self._lines(self.start), self.passage.line_end)

    @property
    def line_end(self) -> int:
        """The last line, included."""
        end = self.start + len(self.passage.text[self.start : self.end].rstrip())
        return max(self.line_start, min(self.passage.line_start + self._lines(end), self.passage.line_end))

    def _lines(self, at: int) -> int:
        """Count the file's lines before a place in the passage, without repeated ones."""
        return max(0, self.passage.text.count("\n", 0, at) - self.passage.repeated)

    def scored(self, score: float) -> Span:
        return replace(self, score=score)

    def joined(self, other: Span) -> Span:
        """Join an adjacent or overlapping span."""
        first, last = (self, other) if self.start <= other.start else (other, self)
        end = max(self.end, other.end)
        after = last.frame.after if end == last.end else first.frame.after
        return replace(first, end=end, frame=Frame(first.frame.before, after), score=max(self.score, other.score))


def whole_span(passage: Passage) -> Span:
    return Span(passage, 0, len(passage.text), score=passage.score)


def cut_spans(passage: Passage) -> tuple[Span, ...]:
    """Return the spans that make up a passage, in order."""
    pieces = _cut(passage.text)
    return tuple(Span(passage, piece.start, piece.end, piece.frame) for piece in pieces) or (whole_span(passage),)


@lru_cache(4096)  # a server cuts the same texts again
def _cut(text: str) -> Sequence[Piece]:
    """Return the pieces of a text, or none if it is short enough as a whole."""
    count = _bytes_unpadded if _PADDING.search(text) else len if text.isascii() else _bytes
    return () if count(text) <= MOST else cut_text(text, [0], ChunkLimits(SIZE, MOST, count))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _bytes_unpadded(text: str) -> int:
    return _bytes(_PADDING.sub(" ", text))


def best_first(spans: Iterable[Span]) -> list[Span]:
    """Sort spans by score, then passage and place."""
    return sorted(spans, key=lambda span: (-span.score, span.passage.id, span.start))


def passages_of(spans: Iterable[Span]) -> list[Passage]:
    """Return the distinct passages of ranked spans, with their best scores."""
    return [span.passage.scored(span.score) for span in best_spans(spans).values()]


def best_spans(spans: Iterable[Span]) -> dict[str, Span]:
    """Return the first span of each passage by id."""
    best: dict[str, Span] = {}
    for span in spans:
        best.setdefault(span.passage.id, span)
    return best


def spread_spans(spans: Iterable[Span]) -> dict[str, Span]:
    """Return `best_spans` with the first `SPREAD` far from each other; passages near these come later."""
    best, first = best_spans(spans), dict[str, Span]()
    for ident, span in best.items():
        if len(first) < SPREAD and not any(_are_near(span.passage, other.passage) for other in first.values()):
            first[ident] = span
    return first | best


def _are_near(passage: Passage, other: Passage) -> bool:
    return passage.key == other.key and abs(passage.sequence - other.sequence) <= NEAR
