"""Packing: units of a text put together to pieces of about the size that is wanted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from .cut_points import Seams
from .separators import sentence_ends
from .units import GOOD, NO_FRAME, ChunkLimits, Surroundings, Unit

# Of the size: so much more is no harm, and so little is no chunk where that can be helped.
TOLERANCE = 8
SMALLEST = 16  # of the size: smaller units are joined before the best packing is looked for


class Piece(NamedTuple):
    """A part of a text, `text[start:end]`, with what is repeated: `frame`, and the text
    from `overlap` to the start (`overlap` is the start where there is none). `size`: of
    the part in its frame."""

    start: int
    end: int
    frame: Surroundings
    overlap: int
    size: int = 0


def cut_text(text: str, starts: Sequence[int], limits: ChunkLimits, overlap: int = 0) -> list[Piece]:
    """A text in pieces, none longer than `limits.max_size`. starts: where its blocks
    start, of which as many as fit stay whole. overlap: how much of the piece before may
    be repeated, in the unit of the limits."""
    seams = Seams(text, limits)
    packer = _Packer(text, _merge(seams.units(starts), limits), limits, overlap)
    return _without_blank(text, list(packer.pieces()))


def _without_blank(text: str, pieces: list[Piece]) -> list[Piece]:
    """Return the pieces, those of nothing but white space joined to the ones before them: they
    would be chunks without a text."""
    kept = pieces[:1]
    for piece in pieces[1:]:
        if text[piece.start : piece.end].strip(" \t\r\n"):
            kept.append(piece)
        else:
            kept[-1] = kept[-1]._replace(end=piece.end)
    return kept


def _merge(units: list[Unit], limits: ChunkLimits) -> list[Unit]:
    """The units, very small ones joined with those after them, so that there are not
    many in a piece."""
    merged = units[:1]
    least = limits.size // SMALLEST
    for unit in units[1:]:
        last = merged[-1]
        full = limits.full(last)
        closed = full >= least or (last.cost <= GOOD and 2 * full >= least)
        if closed or last.end != unit.start or full + unit.size > 2 * least:
            merged.append(unit)
        else:
            frame = Surroundings(last.frame.before, unit.frame.after)
            prose = last.prose and unit.prose
            merged[-1] = Unit(last.start, unit.end, frame, unit.cost, prose, full + unit.size)
    return merged


class _Packer:
    """Finds the packing with the least cost: of pieces that are not of the size that is
    wanted, and of cuts where it is bad to cut."""

    def __init__(self, text: str, units: list[Unit], limits: ChunkLimits, overlap: int) -> None:
        self.text = text
        self.units = units
        self.limits = limits
        self.overlap = overlap
        self.size = max(1, limits.size - overlap)
        self.sizes = [unit.size for unit in units]
        self.full = [limits.full(unit) for unit in units] if limits.count is len else self.sizes
        self.before = [limits.count(unit.frame.before) if unit.frame.before else 0 for unit in units]
        self.after = [limits.count(unit.frame.after) + 1 if unit.frame.after else 0 for unit in units]

    def pieces(self) -> Iterator[Piece]:
        """The pieces in their order."""
        repeatable: int | None = None
        for first, stop in self._best():
            for at, piece in enumerate(self._sure(first, stop)):
                repeats = at == 0 and self.overlap and repeatable is not None and self.units[first].prose
                yield self._with_overlap(piece, repeatable or 0) if repeats else piece
            repeatable = self._prose_start(first, stop)

    def _prose_start(self, first: int, stop: int) -> int | None:
        """Where the prose starts that a piece ends with."""
        at = stop
        while at > first and self.units[at - 1].prose:
            at -= 1
        return self.units[at].start if at < stop else None

    def _best(self) -> list[tuple[int, int]]:
        """The first unit of each piece, and the one after its last. (The inner loop runs
        some ten times for each unit, and so without calls.)"""
        count, wanted, most = len(self.units), self.size, self.limits.max_size
        sizes, full, afters = self.sizes, self.full, self.after
        enough, spare = wanted + wanted // TOLERANCE, wanted // TOLERANCE
        cuts = [unit.cost for unit in self.units[:-1]] + [0.0]
        costs = [0.0] + [inf] * count
        came = [0] * (count + 1)
        for first in range(count):
            total, biggest, before = self.before[first], 0, costs[first]
            for at in range(first, count):
                own, after = sizes[at], afters[at]
                if own > biggest:
                    biggest = own
                size = total + (full[at] + after if after else own)
                if at == first or (size <= most and (size <= enough or size - biggest <= spare)):
                    off = (size - wanted) / wanted
                    cost = before + (off * off if off < 0 else min(4 * off * off, 0.06)) + cuts[at]
                    if cost < costs[at + 1]:
                        costs[at + 1], came[at + 1] = cost, first
                elif total + own > enough:
                    break
                total += full[at]
        packed: list[tuple[int, int]] = []
        while count:
            packed.append((came[count], count))
            count = came[count]
        return packed[::-1]

    def _sure(self, first: int, stop: int) -> Iterator[Piece]:
        """The piece of some units, or several: a tokenizer may find more in a text than
        in its parts."""
        one, other = self.units[first], self.units[stop - 1]
        frame = Surroundings(one.frame.before, other.frame.after)
        size = sum(self.full[first:stop]) + self.before[first] + self.after[stop - 1]
        if not self._is_sure(size):
            size = self.limits.of(shown(self.text[one.start : other.end], frame))
        if size <= self.limits.max_size:
            yield Piece(one.start, other.end, frame, one.start, size)
        elif stop - first > 1:
            middle = (first + stop) // 2
            yield from self._sure(first, middle)
            yield from self._sure(middle, stop)
        else:
            for unit in Seams(self.text, self.limits).cut(one.start, one.end):
                yield Piece(unit.start, unit.end, NO_FRAME, unit.start, unit.size)

    def _with_overlap(self, piece: Piece, start: int) -> Piece:
        """The piece with the last sentences of the one before it, whose prose starts at
        `start`: as many as fit."""
        if piece.frame.before:
            return piece
        low = max(start, piece.start - 12 * self.overlap - 200)
        ends = [low + end for end in sentence_ends(self.text[low : piece.start])]
        starts = [low, *ends] if low == start else ends
        for at in starts[bisect_left(starts, True, key=lambda at: self._repeated(at, piece) <= self.overlap) :]:
            size = self._repeated(at, piece)
            if not size or size > self.overlap:
                continue
            if self._is_sure(size + piece.size) or self._fits_with(at, piece):
                return piece._replace(overlap=at)
        return piece

    def _repeated(self, at: int, piece: Piece) -> int:
        return self.limits.of(self.text[at : piece.start])

    def _fits_with(self, at: int, piece: Piece) -> bool:
        return self.limits.fits(shown(self.text[at : piece.end], piece.frame))

    def _is_sure(self, size: int) -> bool:
        """Whether a sum of sizes is so far from the limit that the whole is not counted."""
        return self.limits.additive and size <= self.limits.max_size - self.limits.max_size // 8


def shown(text: str, frame: Surroundings) -> str:
    """A text in its frame; the closing lines of a frame start on a line of their own."""
    if frame.after and not text.endswith("\n"):
        text += "\r\n" if frame.after.endswith("\r\n") else "\n"
    return frame.before + text + frame.after
