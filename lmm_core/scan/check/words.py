"""Words that are nearly others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

LMM = "lmm"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word nearest to a word that is not known itself, or "".

    Near means one slip (a letter more, fewer, replaced, or swapped), or two in words of eight letters or more; case
    does not count."""
    found = [(distance, one) for one in known if (distance := _slips(word, one)) is not None]
    return min(found)[1] if found and word not in {one for _, one in found} else ""


@lru_cache(1000)
def _slips(word: str, known: str) -> int | None:
    """Return the number of slips between two words, None if there are too many."""
    one, other = word.lower(), known.lower()
    allowed = 0 if len(other) < 4 else 1 if len(other) < 8 else 2
    if abs(len(one) - len(other)) > allowed:
        return None
    found = 0 if one == other else slips_between(one, other)
    return found if found <= allowed else None


def slips_between(one: str, other: str) -> int:
    """Return the number of slips that lead from one word to another (letters too many, too few,
    replaced, or swapped with their neighbours): the optimal string alignment distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, sign in enumerate(one, 1):
        older, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (sign != wanted))
            if i > 1 and j > 1 and sign == other[j - 2] and one[i - 2] == wanted:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def is_nearly_lmm(name: str) -> bool:
    """Return True if a name is nearly `lmm`. For so short a name, the content has to be checked as well."""
    return name != LMM and slips_between(name[:9].lower(), LMM) <= 1
