"""Tell a language's frequent words, which name no subject, from others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .stemming import LANGUAGES, further_stop_words, language_code, stop_words
from .words import find_words, fold

# Elided letters of French and Italian, removed by `find_words`
_ELIDED = frozenset("cdjlmnst")


@cache
def frequent_words(language: str) -> frozenset[str]:
    """Return a language's frequent words."""
    code = language_code(language)
    longer = further_stop_words(code) - _ELIDED  # adds words like "know"
    return frozenset(map(fold, stop_words(code) | longer))


def language_of_words(words: Sequence[str], usual: str) -> str:
    """Return the usual language, or another one with at least two more of its frequent words here."""
    folded = set(map(fold, words))
    counts = {code: len(folded & frequent_words(code)) for code in (usual, *LANGUAGES)}
    most = max(counts, key=lambda code: counts[code])
    return most if counts[most] >= counts[usual] + 2 else usual


def naming_words(text: str, language: str) -> list[str]:
    """Return the words of a title or term that are not frequent, and so may name a subject."""
    words = find_words(text)
    frequent = frequent_words(language_of_words(words, language))
    return [word for word in words if fold(word) not in frequent]
