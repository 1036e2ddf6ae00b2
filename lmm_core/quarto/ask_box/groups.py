"""What is found in the rows of neighbouring documents, which is remembered: their words, and names with other names."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...retrieve.ranking.naming import Pair
from ...retrieve.ranking.synonyms import pairs_in, words_said
from ...workflows.known.cache import Known
from ...workflows.known.remember import remembered
from .plain_text import in_unicode
from .rows import Rows
from .word_index import CountedWords, count_words, parts_of

LEAST = 8  # documents in a group: fewer are more to put together, more are more to find again after an edit
MORE = 7  # documents, as it happens, until a group of so many ends
_CODE = re.compile(r"^ {4}.*$", re.M)  # in a row


@dataclass(frozen=True)
class Group:
    """What is found in the rows of neighbouring documents."""

    words: CountedWords
    pairs: list[Pair]


class Groups:
    """The groups of all rows, in their order. known: see `remembered`."""

    def __init__(self, rows: Rows, known: Known | None = None) -> None:
        self._rows, self._known = rows, known
        self._things = [(self._hash(*at), at) for at in _bounds(rows)]

    def read(self, stop: str) -> list[Group]:
        """Return what is found in each group. stop: see `count_words`."""
        types = sorted(self._rows.types)

        def read(at: tuple[int, int]) -> dict[str, Any]:
            words = count_words(self._rows.sections(*at), stop, types)
            return {"words": vars(words), "pairs": [*pairs_in(self._passages(at))]}

        beside = repr((stop, types)).encode()
        found = remembered("ask words", beside, self._things, read, 5, self._size, self._known)
        return [Group(CountedWords(**one["words"]), [(first, other) for first, other in one["pairs"]]) for one in found]

    def words_said(self, words: Set[str]) -> set[str]:
        """Return those of some words that the passages of the rows say with blanks around them."""

        def read(at: tuple[int, int]) -> list[str]:
            return sorted(words_said(self._passages(at), words))

        beside = repr(sorted(words)).encode()
        found = remembered("ask said", beside, self._things, read, size_of=self._size, known=self._known)
        return set[str]().union(*found)

    def _hash(self, start: int, end: int) -> bytes:
        """Return the hash of consecutive sections, which are all those of some documents."""
        numbers = self._rows.numbers
        hashes = self._rows.hashes[numbers[start] : numbers[end - 1] + 1] if end > start else []
        return b"".join(map(bytes.fromhex, hashes))

    def _size(self, at: tuple[int, int]) -> int:
        return sum(map(len, self._rows.texts[slice(*at)]))

    def _passages(self, at: tuple[int, int]) -> Iterator[str]:
        for row in self._rows.sections(*at):
            yield from (without_code(in_unicode(parts_of(one)[0])) for one in row[7])


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
