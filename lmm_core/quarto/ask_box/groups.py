"""What is found in the rows of neighbouring documents, which is remembered: their words, and names with other names."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...retrieve.ranking.naming import Pair
from ...retrieve.ranking.synonyms import pairs_in
from ...workflows.known.remember import remembered
from .plain_text import in_unicode
from .rows import Rows
from .word_index import CountedWords, count_words, parts_of

USUAL = 32  # documents in a group: fewer are more to put together, more are more to find again after an edit
_CODE = re.compile(r"^ {4}.*$", re.M)  # in a row


@dataclass(frozen=True)
class Group:
    """What is found in the rows of neighbouring documents."""

    words: CountedWords
    pairs: list[Pair]


def read_groups(rows: Rows, texts: Sequence[str], stop: str, types: Sequence[str]) -> list[Group]:
    """Return what is found in all rows, in their order. texts: each row without the number of its document, as JSON;
    stop, types: see `count_words`."""

    def read(at: tuple[int, int]) -> dict[str, Any]:
        sections = rows.sections[slice(*at)]
        passages = (without_code(in_unicode(parts_of(one)[0])) for row in sections for one in row[7])
        return {"words": vars(count_words(sections, stop, types)), "pairs": [*pairs_in(passages)]}

    things = [("\n".join(texts[slice(*at)]).encode(), at) for at in _bounds(rows)]
    found = remembered("ask words", repr((stop, types)).encode(), things, read, effort=5)
    return [Group(CountedWords(**one["words"]), [(first, other) for first, other in one["pairs"]]) for one in found]


def _bounds(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield where the rows of each group begin and end. A group ends where the name of a document says so, so that
    a new document changes its own group alone."""
    ends = {
        at for at, (_, source) in enumerate(rows.documents) if zlib.crc32(source.encode(errors="replace")) % USUAL == 0
    }
    numbers = [row[0] for row in rows.sections]
    cuts = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if one != other and one in ends]
    return pairwise([0, *cuts, len(numbers)])


def without_code(text: str) -> str:
    """Return the text of a row without the lines of code."""
    return _CODE.sub("", text)
