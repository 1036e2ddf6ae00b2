"""The last look at a place: the keys that were looked for, and which of them each text has.

There are tens of thousands of keys. So they have numbers, and all that is known is kept in columns.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ....logging import Report
from ....workflows.known.keys import HASH

if TYPE_CHECKING:
    Numbers: TypeAlias = array[int]
    Column = TypeVar("Column", Numbers, bytes)

_TYPE = "I"  # of numbers: four bytes each
_END = "\n"  # of a key: none has one


def numbers_of(numbers: Iterable[int]) -> Numbers:
    """Return numbers as a column."""
    return array(_TYPE, numbers)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a document that are left out, in columns: the line of each, 1 for a cell of it that may make a
    figure, how many keys it has; and the numbers of all these keys. included: as in a record (see `notes`)."""

    lines: Numbers
    cells: bytes
    sizes: Numbers
    keys: Numbers
    included: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a text, given what is looked for. found: the numbers of the keys that it has; the rest as in
    `Said`."""

    found: Numbers
    figures: Sequence[str] = ()
    has_comments: bool = False
    is_read: bool = True
    reports: Sequence[Report] = ()

    @property
    def about(self) -> list[Any]:
        """What is kept beside the keys."""
        return [[*self.figures], self.has_comments, self.is_read]


_USUAL = Seen(numbers_of([])).about


@dataclass(slots=True)
class Look:
    """What was seen in a place. names: the keys that were looked for, by their numbers; documents, texts: by the
    hashes of all that parts, or what is said, depend on."""

    names: list[str] = field(default_factory=list)
    documents: dict[bytes, Parts] = field(default_factory=dict)
    texts: dict[bytes, Seen] = field(default_factory=dict)

    def only(self, numbers: set[int]) -> Look:
        """Return the look without other keys than those of some numbers, and without the documents that have others."""
        kept = sorted(numbers)
        if len(kept) == len(self.names):
            return self
        new = {old: at for at, old in enumerate(kept)}
        parts = {key: one for key, one in self.documents.items() if numbers.issuperset(one.keys)}
        return Look(
            [self.names[at] for at in kept],
            {key: replace(one, keys=numbers_of(map(new.__getitem__, one.keys))) for key, one in parts.items()},
            {
                key: replace(one, found=numbers_of(new[at] for at in one.found if at in new))
                for key, one in self.texts.items()
            },
        )

    def packed(self) -> bytes:
        """Return all of it as bytes."""
        parts, texts = [*self.documents.values()], [*self.texts.values()]
        columns = [
            _END.join(self.names).encode("utf-8", "surrogatepass"),
            b"".join([*self.documents, *self.texts]),
            b"".join([one.cells for one in parts]),
            _bytes(numbers_of(len(one.lines) for one in parts)),
            _bytes(*[one.lines for one in parts]),
            _bytes(*[one.sizes for one in parts]),
            _bytes(numbers_of(len(one.keys) for one in parts)),
            _bytes(*[one.keys for one in parts]),
            _bytes(numbers_of(len(one.found) for one in texts)),
            _bytes(*[one.found for one in texts]),
        ]
        about = {
            "columns": [*map(len, columns)],
            "names": len(self.names),
            "included": [(at, one.included) for at, one in enumerate(parts) if one.included],
            "unusual": [(at, one.about) for at, one in enumerate(texts) if one.about != _USUAL],
        }
        return b"".join([json.dumps(about).encode(), b"\n", *columns])


def unpacked(data: bytes) -> Look:
    """Return the look that was packed; an empty one if a key has a line end, which none should have."""
    begin = data.index(b"\n") + 1
    about = json.loads(data[:begin])
    columns = [data[start:end] for start, end in pairwise(accumulate(about["columns"], initial=begin))]
    joined, hashes, cells = columns[:3]
    counts, lines, sizes, key_counts, keys, found_counts, found = map(_numbers, columns[3:])
    names = joined.decode("utf-8", "surrogatepass").split(_END) if joined else []
    if len(names) != about["names"]:
        return Look()
    parts = [*map(Parts, cut(lines, counts), cut(cells, counts), cut(sizes, counts), cut(keys, key_counts))]
    for at, included in about["included"]:
        parts[at] = replace(parts[at], included=included)
    texts = [*map(Seen, cut(found, found_counts))]
    for at, others in about["unusual"]:
        texts[at] = Seen(texts[at].found, *others)
    known = [hashes[at : at + HASH] for at in range(0, len(hashes), HASH)]
    documents = dict(zip(known[: len(parts)], parts, strict=True))
    return Look(names, documents, dict(zip(known[len(parts) :], texts, strict=True)))


def _bytes(*columns: Numbers) -> bytes:
    return b"".join([one.tobytes() for one in columns])


def _numbers(data: bytes) -> Numbers:
    numbers = numbers_of([])
    numbers.frombytes(data)
    return numbers


def cut(column: Column, counts: Iterable[int]) -> Iterator[Column]:
    """Yield the pieces of a column, given how many values each has."""
    return (column[start:end] for start, end in pairwise(accumulate(counts, initial=0)))
