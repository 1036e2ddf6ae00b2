"""Join units of a text into pieces of about the wanted size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from .units import GOOD, NO_FRAME, ChunkLimits, Frame, TextPart, Unit, cut_at, find_units, sentence_ends

# An eighth above the size is accepted
TOLERANCE = 8
SMALLEST = 16  # units below a sixteenth of the size are joined before the search
TOO_SMALL = 100.0  # the cost of an undersized piece


class Piece(NamedTuple):
    """A part of a text, `text[start:end]`.

    frame: repeated lines around it; size: in its frame
    overlap: where text repeated from the previous piece starts"""

    start: int
    end: int
    frame: Frame
    overlap: int
    size: int = 0


def cut_text(text: str, starts: Sequence[int], limits: ChunkLimits, overlap: int = 0) -> list[Piece]:
    """Cut a text into pieces of at most `limits.max_size`.

    starts: of blocks, kept whole if possible; overlap: maximum repeated from the previous piece, in the limits' unit"""
    search = _PieceSearch(text, _merge_small(find_units(text, starts, limits), limits), limits, overlap)
    return _without_blank(text, list(search.pieces()))


def _without_blank(text: str, pieces: list[Piece]) -> list[Piece]:
    filled = pieces[:1]
    for piece in pieces[1:]:
        if text[piece.start : piece.end].strip(" \t\r\n"):
            filled.append(piece)
        else:
            filled[-1] = filled[-1]._replace(end=piece.end)
    return filled


def _merge_small(units: list[Unit], limits: ChunkLimits) -> list[Unit]:
    """Join very small units with the next, to speed up the search."""
    merged = units[:1]
    least = limits.size // SMALLEST
    for unit in units[1:]:
        last = merged[-1]
        closed = last.cost < 0 or last.full >= least or (last.cost <= GOOD and 2 * last.full >= least)
        if closed or last.end != unit.start or last.full + unit.size > 2 * least:
            merged.append(unit)
        else:
            frame = Frame(last.frame.before, unit.frame.after)
            prose = last.prose and unit.prose
            size, full = last.full + unit.size, last.full + unit.full
            merged[-1] = Unit(last.start, unit.end, frame, unit.cost, prose, size, full)
    return merged


class _PieceSearch:
    """The search for the cheapest pieces: wrong sizes and bad cuts have a cost."""

    def __init__(self, text: str, units: list[Unit], limits: ChunkLimits, overlap: int) -> None:
        self.text = text
        self.units = units
        self.limits = limits
        self.overlap = overlap
        self.before = [limits.count(unit.frame.before) if unit.frame.before else 0 for unit in units]
        self.after = [limits.count(unit.frame.after) + 1 if unit.frame.after else 0 for unit in units]

    def pieces(self) -> Iterator[Piece]:
        repeatable: int | None = None
        for first, stop in self._best():
            for at, piece in enumerate(self._fitting_pieces(first, stop)):
                repeats = at == 0 and self.overlap and repeatable is not None and self.units[first].prose
                yield self._with_overlap(piece, repeatable or 0) if repeats else piece
            repeatable = self._prose_start(first, stop)

    def _prose_start(self, first: int, stop: int) -> int | None:
        at = stop
        while at > first and self.units[at - 1].prose and self.units[stop - 1].cost >= 0:
            at -= 1
        return self.units[at].start if at < stop else None

    def _best(self) -> list[tuple[int, int]]:
        """Return the first and end unit of each piece. (The inner loop makes no calls: it runs ten times per unit.)"""
        count, target, most = len(self.units), max(1, self.limits.size - self.overlap), self.limits.max_size
        sizes, full, afters = [unit.size for unit in self.units], [unit.full for unit in self.units], self.after
        enough, spare, least = target + target // TOLERANCE, target // TOLERANCE, self.limits.least
        if least:
            enough = most
        cuts = [unit.cost for unit in self.units[:-1]] + [0.0]
        costs = [0.0] + [inf] * count
        starts = [0] * (count + 1)
        for first in range(count):
            total, biggest, before = self.before[first], 0, costs[first]
            for at in range(first, count):
                own, after = sizes[at], afters[at]
                if own > biggest:
                    biggest = own
                size = total + (full[at] + after if after else own)
                if at == first or (size <= most and (size <= enough or size - biggest <= spare)):
                    off = (size - target) / target
                    cost = before + (off * off if off < 0 else min(4 * off * off, 0.06)) + cuts[at]
                    if size < least:
                        cost += TOO_SMALL
                    if cost < costs[at + 1]:
                        costs[at + 1], starts[at + 1] = cost, first
                elif total + own > enough:
                    break
                total += full[at]
        pieces: list[tuple[int, int]] = []
        while count:
            pieces.append((starts[count], count))
            count = starts[count]
        return pieces[::-1]

    def _fitting_pieces(self, first: int, stop: int) -> Iterator[Piece]:
        """Yield units as one piece, or as several if a tokenizer counts more in the whole than in its parts."""
        first_unit, last_unit = self.units[first], self.units[stop - 1]
        frame = Frame(first_unit.frame.before, last_unit.frame.after)
        size = sum(unit.full for unit in self.units[first:stop]) + self.before[first] + self.after[stop - 1]
        if size > self.limits.max_size - self.limits.max_size // 8:  # otherwise the whole is sure to fit
            size = self.limits.of(add_frame(self.text[first_unit.start : last_unit.end], frame))
        if size <= self.limits.max_size:
            yield Piece(first_unit.start, last_unit.end, frame, first_unit.start, size)
        elif stop - first > 1:
            middle = (first + stop) // 2
            yield from self._fitting_pieces(first, middle)
            yield from self._fitting_pieces(middle, stop)
        else:
            for unit in cut_at(self.text, TextPart(first_unit.start, first_unit.end), self.limits):
                yield Piece(unit.start, unit.end, NO_FRAME, unit.start, unit.size)

    def _with_overlap(self, piece: Piece, start: int) -> Piece:
        if piece.frame.before:
            return piece
        low = max(start, piece.start - 12 * self.overlap - 200)
        ends = [low + end for end in sentence_ends(self.text[low : piece.start])]
        starts = [low, *ends] if low == start else ends
        for at in starts[bisect_left(starts, True, key=lambda at: self._repeated(at, piece) <= self.overlap) :]:
            size = self._repeated(at, piece)
            extended_size = self.limits.of(add_frame(self.text[at : piece.end], piece.frame))
            if 0 < size <= self.overlap and extended_size <= self.limits.max_size:
                return piece._replace(overlap=at)
        return piece

    def _repeated(self, at: int, piece: Piece) -> int:
        return self.limits.of(self.text[at : piece.start])


def add_frame(text: str, frame: Frame) -> str:
    """Return a text within a frame, whose closing lines start on a new line."""
    if frame.after and not text.endswith("\n"):
        text += "\r\n" if frame.after.endswith("\r\n") else "\n"
    return frame.before + text + frame.after
