"""Sentences that refer to what stands before them, and so cannot stand first."""

from __future__ import annotations

from .sentences import words_of
from .wording import Wording

_OPENING = "\"“„«‘'([ "


def leans(sentence: str, wording: Wording | None) -> bool:
    """Return True if a sentence begins in its middle, or as one that needs the sentence before it.

    wording: that of its language, or None if that is not known."""
    start = sentence.lstrip(_OPENING)
    return (
        start[:1].islower()
        or start.startswith((",", ";", ":", ")"))
        or (wording is not None and wording.leans_on(words_of(start)))
    )
