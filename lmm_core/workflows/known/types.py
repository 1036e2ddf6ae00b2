"""The types that the parts of documents have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ...markdown.blocks import Block
from ...scan.check.type_words import count_types
from .remember import Thing, remembered


def count_all_types(
    things: Sequence[tuple[bytes, Thing]], blocks_of: Callable[[Thing], Sequence[Block]]
) -> Counter[str]:
    """Return how many parts of some documents have each type. things: after the bytes of each text what `blocks_of`
    gives the blocks of."""
    rows = remembered("types", b"", things, lambda thing: count_types([blocks_of(thing)]))
    return sum(map(Counter, rows), Counter())
