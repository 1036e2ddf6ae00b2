"""The counts of a material's words that are kept in tables: those of the words of a question are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ...models.languages.stemming import Stemmers
from ..ranking.counting import Counts
from ..ranking.lexical import KEPT
from ..ranking.synonyms import Synonyms
from .tables import Tables, unpack

LAST = "\U0010ffff"  # stands behind all letters


def read_counts(tables: Tables, language: str, stemmers: Stemmers) -> Counts:
    """Return the counts in tables. The stemmers are made of the languages that were met when they were counted."""
    for code in tables.whole("stemmers"):
        stemmers.of(code)
    texts_in = dict(tables.rows("SELECT docid, texts FROM documents"))
    lengths, fields = Counter(tables.whole("lengths")), Counter(tables.whole("fields"))
    synonyms = Synonyms.of(tables.whole("synonyms"), stemmers.of(""), language)
    return Counts(lengths, fields, texts_in, _StemsIn(tables), KeptStems(tables), synonyms)


class KeptStems:
    """The stems of some texts, in tables; see `Stems`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.counts: Mapping[str, int] = _StemCounts(tables)

    def starting(self, start: str) -> Iterator[str]:
        """See `Stems`."""
        found = self._tables.rows("SELECT stem FROM stems WHERE stem BETWEEN ? AND ?", start, start + LAST)
        return (stem for (stem,) in found)

    def form(self, stem: str) -> str:
        """See `Stems`."""
        found = self._tables.first("SELECT form FROM stems WHERE stem = ?", stem)
        return str(found[0]) if found else stem

    def alike(self, initial: str, length: int) -> list[tuple[str, str]]:
        """See `Stems`."""
        return self._tables.rows(
            "SELECT word, stem FROM words WHERE initial = ? AND length = ? ORDER BY number", initial, length
        )


class _StemCounts(Mapping[str, int]):
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, stem: str) -> int:
        found = self._tables.first("SELECT count FROM stems WHERE stem = ?", stem)
        return int(found[0]) if found else 0

    def __contains__(self, stem: object) -> bool:
        return self._tables.first("SELECT 1 FROM stems WHERE stem = ?", stem) is not None

    def __iter__(self) -> Iterator[str]:
        return (stem for (stem,) in self._tables.rows("SELECT stem FROM stems"))

    def __len__(self) -> int:
        return int(self._tables.first("SELECT COUNT(*) FROM stems")[0])


class _StemsIn(Mapping[str, Mapping[str, int]]):
    """The stems of each document, by its docid, with the number of its texts that have each."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._numbers = dict(tables.rows("SELECT docid, rowid FROM documents"))
        self._unpacked = lru_cache(KEPT)(self._unpack)

    def __getitem__(self, docid: str) -> Mapping[str, int]:
        return self._unpacked(self._numbers[docid])

    def _unpack(self, number: int) -> Counter[str]:
        return Counter(unpack(self._tables.first("SELECT stems FROM documents WHERE rowid = ?", number)[0]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
