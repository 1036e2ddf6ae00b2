"""The types that the parts of documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ...markdown.blocks import Block
from ...markdown.parse import parse_markdown_text
from ...scan.check.type_words import count_types
from .remember import remembered


def count_all_types(documents: Iterable[tuple[str, Sequence[Block] | None]]) -> Counter[str]:
    """Return how many parts of some documents have each type.

    documents: the text of each, with its blocks where it has been parsed before."""
    things = [(one[0].encode("utf-8", "surrogatepass"), one) for one in documents]
    rows = remembered("types", b"", things, lambda one: count_types([one[1] or parse_markdown_text(one[0])]))
    return sum(map(Counter, rows), Counter())
