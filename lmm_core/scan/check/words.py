"""Similar words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

LMM = "lmm"


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the known word nearest to an unknown one, or "".

    One slip is allowed (see `slips_between`), two in words of eight letters.
    """
    distances = [(distance, other) for other in words if (distance := _slips(word, other)) is not None]
    return min(distances)[1] if distances and word not in {other for _, other in distances} else ""


@lru_cache(1000)
def _slips(word: str, candidate: str) -> int | None:
    lower, other = word.lower(), candidate.lower()
    allowed = 0 if len(other) < 4 else 1 if len(other) < 8 else 2
    if abs(len(lower) - len(other)) > allowed:
        return None
    slips = 0 if lower == other else slips_between(lower, other)
    return slips if slips <= allowed else None


def slips_between(word: str, other: str) -> int:
    """Return the optimal string alignment distance of two words."""
    previous: list[int] = []
    row = list(range(len(other) + 1))
    for i, sign in enumerate(word, 1):
        older, previous, row = previous, row, [i]
        for j, letter in enumerate(other, 1):
            best = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (sign != letter))
            if i > 1 and j > 1 and sign == other[j - 2] and word[i - 2] == letter:
                best = min(best, older[j - 2] + 1)
            row.append(best)
    return row[-1]


def is_nearly_lmm(name: str) -> bool:
    """Return True for one slip from `lmm`; check the content, too."""
    return name != LMM and slips_between(name[:9].lower(), LMM) <= 1
