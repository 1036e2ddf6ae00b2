"""What a text says, as far as leaks are looked for in it, and the same packed for the cache."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain

from ....logging import Report
from ..words import Stream

_LEVEL = 1  # of compression
_SIZE = 4  # bytes of a hash, and of the number of hashes


@dataclass(slots=True)
class Said:
    """What a text says. marks: the keys of its elements and names;
    figures: those that it names; has_comments: of metadata; is_read: False if nothing in the file could be
    looked into; may_be_kept: False if it is to be read again the next time; reports: what is to be said of it."""

    streams: list[Stream] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    figures: set[str] = field(default_factory=set)
    has_comments: bool = False
    is_read: bool = True
    may_be_kept: bool = True
    reports: list[Report] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a text says, as bytes: the hashes of the first letters at each word, sorted, so that most texts need
    not be unpacked when a run is looked for, and then the rest."""

    data: bytes

    def has_head(self, heads: Iterable[int]) -> bool:
        """Return True if some hashes of first letters are among those of the text."""
        known = memoryview(self.data)[_SIZE : self._end].cast("I")
        size = len(known)
        for head in heads:
            at = bisect_left(known, head)
            if at < size and known[at] == head:
                return True
        return False

    def said(self) -> Said:
        """Return what the text says."""
        streams, marks, figures, has_comments, is_read = json.loads(zlib.decompress(self.data[self._end :]))
        read = [Stream(words.split(" ") if words else []) for words in streams]
        return Said(read, {*marks}, {*figures}, has_comments, is_read)

    @property
    def _end(self) -> int:
        return _SIZE * (1 + int.from_bytes(self.data[:_SIZE], sys.byteorder))


def pack(said: Said) -> Packed:
    """Return what a text says, packed."""
    heads = array("I", sorted(hashes_of({*chain.from_iterable(stream.heads for stream in said.streams)})))
    streams = [" ".join(stream.said) for stream in said.streams]
    rest = json.dumps([streams, [*said.marks], [*said.figures], said.has_comments, said.is_read])
    return Packed(len(heads).to_bytes(_SIZE, sys.byteorder) + heads.tobytes() + zlib.compress(rest.encode(), _LEVEL))


def hashes_of(heads: Collection[str]) -> list[int]:
    """Return the hash of the first letters of each of some runs, of 30 bits: larger numbers take longer to sort."""
    if not heads:
        return []
    encoded = as_bytes("\n".join(heads)).split(b"\n")  # at once: there are thousands, without line ends
    return [found >> 2 for found in map(zlib.crc32, encoded)]


def as_bytes(text: str) -> bytes:
    """Return a text as UTF-8, halves of surrogate pairs included."""
    return text.encode("utf-8", "surrogatepass")
