"""Spans: the sentences, items, rows and blocks of code in passages that are ranked and shown.

A passage of 200 tokens often holds one or two sentences that answer a question. Spans are cut when a passage is
found, and not stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...indexing.cutting.pieces import add_frame, cut_text
from ...indexing.cutting.units import NO_FRAME, ChunkLimits, Frame
from ...indexing.passages import Passage
from ...markdown.blocks import trim_blank_lines
from .weights import MOST, SIZE

_PADDING = re.compile(r"(?<! ) {2,}(?=\|)|(?<=[|:-])-{4,}")  # in the cells of a table
SPREAD = 5  # hits that are not of neighbouring passages
NEAR = 3  # passages; in long sections, those farther away are about something else


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a passage: `passage.text[start:end]`.

    frame: lines of the passage that are repeated around it, such as the head of its table."""

    passage: Passage
    start: int
    end: int
    frame: Frame = NO_FRAME
    score: float = 0.0

    @property
    def id(self) -> str:
        """The passage's id and the span's place in it."""
        return f"{self.passage.id}:{self.start}-{self.end}"

    @property
    def text(self) -> str:
        """The text in its frame, without blank lines around it."""
        return shown_text(self.passage.text[self.start : self.end], self.frame)

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
        """Return the number of the file's lines before a place in the passage; repeated lines are not counted."""
        return max(0, self.passage.text.count("\n", 0, at) - self.passage.repeated)

    def scored(self, score: float) -> Span:
        """Return the span with a score. (Four times as fast as `replace`.)"""
        return Span(self.passage, self.start, self.end, self.frame, score)

    def joined(self, other: Span) -> Span:
        """Return this span and one that touches or overlaps it as one."""
        first, last = (self, other) if self.start <= other.start else (other, self)
        end = max(self.end, other.end)
        after = last.frame.after if end == last.end else first.frame.after
        return replace(first, end=end, frame=Frame(first.frame.before, after), score=max(self.score, other.score))


def shown_text(text: str, frame: Frame) -> str:
    """Return a part of a passage in its frame, without blank lines around it."""
    return trim_blank_lines(add_frame(text, frame)).rstrip()


def whole_span(passage: Passage) -> Span:
    """Return a passage as one span."""
    return Span(passage, 0, len(passage.text), score=passage.score)


def cut_spans(passage: Passage) -> tuple[Span, ...]:
    """Return the spans of a passage in order; together they are its text."""
    text = passage.text
    count = _bytes_unpadded if _PADDING.search(text) else len if text.isascii() else _bytes
    if count(text) <= MOST:
        return (whole_span(passage),)
    pieces = cut_text(text, [0], ChunkLimits(SIZE, MOST, count))
    return tuple(Span(passage, piece.start, piece.end, piece.frame) for piece in pieces)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _bytes_unpadded(text: str) -> int:
    """Return the bytes of a text without the padding of its tables."""
    return _bytes(_PADDING.sub(" ", text))


def best_first(spans: Iterable[Span]) -> list[Span]:
    """Return spans with the best first; equal ones by passage and place."""
    return sorted(spans, key=lambda span: (-span.score, span.passage.id, span.start))


def passages_of(spans: Iterable[Span]) -> list[Passage]:
    """Return the passages of ranked spans, each once, with its best score."""
    return [span.passage.scored(span.score) for span in best_spans(spans).values()]


def best_spans(spans: Iterable[Span]) -> dict[str, Span]:
    """Return the first span of each passage, by the passage's id."""
    best: dict[str, Span] = {}
    for span in spans:
        best.setdefault(span.passage.id, span)
    return best


def spread_spans(spans: Iterable[Span]) -> dict[str, Span]:
    """Return the same as `best_spans`, with the first `SPREAD` from different parts of the text.

    A passage near a better one of its section comes after these."""
    best, first = best_spans(spans), dict[str, Span]()
    for ident, span in best.items():
        if len(first) < SPREAD and not any(_are_near(span.passage, other.passage) for other in first.values()):
            first[ident] = span
    return first | best


def _are_near(one: Passage, other: Passage) -> bool:
    return one.key == other.key and abs(one.sequence - other.sequence) <= NEAR
