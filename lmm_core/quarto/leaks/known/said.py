"""What a text says, as far as leaks are looked for in it, and the same packed for the cache."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from ....logging import Report

HEAD = 16  # bytes of a run whose hash tells that a text cannot have it
_LEVEL = 1  # of compression
_SIZE = 4  # bytes of a hash, and of the number of hashes


@dataclass(slots=True)
class Said:
    """What a text says. streams: the words of each stream; marks: the keys of its elements and names;
    figures: those that it names; has_comments: of metadata; is_read: False if nothing in the file could be
    looked into; may_be_kept: False if it is to be read again the next time; reports: what is to be said of it."""

    streams: list[list[str]] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    figures: set[str] = field(default_factory=set)
    has_comments: bool = False
    is_read: bool = True
    may_be_kept: bool = True
    reports: list[Report] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Packed:
    """What a text says, as bytes: the hashes of the first bytes at each word, sorted, so that most texts need
    not be unpacked when a run is looked for, and then the rest."""

    data: bytes

    def has_head(self, heads: Iterable[int]) -> bool:
        """Return True if some hashes of first bytes are among those of the text."""
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
        lists = [words.split(" ") if words else [] for words in streams]
        return Said(lists, {*marks}, {*figures}, has_comments, is_read)

    @property
    def _end(self) -> int:
        return _SIZE * (1 + int.from_bytes(self.data[:_SIZE], sys.byteorder))


def pack(said: Said) -> Packed:
    """Return what a text says, packed."""
    heads = array("I", sorted({*map(zlib.crc32, set[bytes]().union(*map(_heads, said.streams)))}))
    streams = [" ".join(words) for words in said.streams]
    rest = json.dumps([streams, [*said.marks], [*said.figures], said.has_comments, said.is_read])
    return Packed(len(heads).to_bytes(_SIZE, sys.byteorder) + heads.tobytes() + zlib.compress(rest.encode(), _LEVEL))


def _heads(words: list[str]) -> set[bytes]:
    """Return the first bytes of each word with those after it."""
    letters = "".join(words)
    data = as_bytes(letters)
    sizes = map(len, words if len(data) == len(letters) else map(as_bytes, words))
    return {data[at : at + HEAD] for at in accumulate(sizes, initial=0)}


def as_bytes(text: str) -> bytes:
    """Return a text as UTF-8, halves of surrogate pairs included."""
    return text.encode("utf-8", "surrogatepass")
