"""The types that the parts of documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...markdown.files import MarkdownDocument
from ...scan.check.type_words import count_types
from .remember import key_text, remembered


def count_all_types(documents: Iterable[MarkdownDocument]) -> Counter[str]:
    """Return how many parts of some documents have each type."""
    things = [(key_text(one), one) for one in documents]
    rows = remembered("types", b"", things, lambda one: count_types([one.blocks]))
    return sum(map(Counter, rows), Counter())
