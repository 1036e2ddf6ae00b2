"""The words in the rows of neighbouring documents, which are remembered."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...workflows.known.cache import Known
from ...workflows.known.remember import remembered
from .rows import Rows
from .word_index import CountedWords, count_words

LEAST = 8  # documents in a group: fewer are more to put together, more are more to find again after an edit
MORE = 7  # documents, as it happens, until a group of so many ends
_CODE = re.compile(r"^ {4}.*$", re.M)  # in a row


class Groups:
    """The groups of all rows, in their order. known: see `remembered`."""

    def __init__(self, rows: Rows, known: Known | None = None) -> None:
        self._rows, self._known = rows, known
        self._things = [(self._hash(*at), at) for at in _bounds(rows)]

    def read(self, stop: str) -> list[CountedWords]:
        """Return the words of each group. stop: see `count_words`."""
        types = sorted(self._rows.types)

        def read(at: tuple[int, int]) -> dict[str, Any]:
            return vars(count_words(self._rows.sections(*at), stop, types))

        beside = repr((stop, types)).encode()
        found = remembered("ask words", beside, self._things, read, 5, self._size, self._known)
        return [CountedWords(**one) for one in found]

    def _hash(self, start: int, end: int) -> bytes:
        """Return the hash of consecutive sections, which are all those of some documents."""
        numbers = self._rows.numbers
        hashes = self._rows.hashes[numbers[start] : numbers[end - 1] + 1] if end > start else []
        return b"".join(map(bytes.fromhex, hashes))

    def _size(self, at: tuple[int, int]) -> int:
        return sum(map(len, self._rows.texts[slice(*at)]))


def _bounds(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield where the rows of each group begin and end. A group that is large enough ends where the name of a document
    says so, so that a new document changes those near it alone."""
    cuts, first = [0], 0
    for at, (one, other) in enumerate(pairwise(rows.numbers), 1):
        if one != other and one - first + 1 >= LEAST and _ends(rows.documents[one][1]):
            cuts.append(at)
            first = other
    return pairwise([*cuts, len(rows.numbers)])


def _ends(source: str) -> bool:
    return zlib.crc32(source.encode(errors="replace")) % MORE == 0  # an odd number: names may differ in a digit alone


def without_code(text: str) -> str:
    """Return the text of a row without the lines of code."""
    return _CODE.sub("", text)
