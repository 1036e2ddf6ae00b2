"""Types that are nearly another type, so that the part is not found among its like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from ...markdown.blocks import Block
from ...markdown.visibility import RAG_ONLY, KnitRules
from .finding import Finding
from .near_misses import typed_parts
from .texts import CheckedText, read_texts
from .words import nearest

_COMMON = frozenset({"definition", "exercise", "topic"})  # the types that the format names
MOST_TYPES = 100  # that are compared, the most used: a project has few


def count_types(documents: Iterable[Sequence[Block]]) -> Counter[str]:
    """Return how many parts of some documents have each type."""
    return Counter(word for blocks in documents for _, word in typed_parts(blocks, read_texts(blocks)))


def _more_used(used: Counter[str]) -> Callable[[str], list[str]]:
    """Return a function that gives the types that more parts have than one, of those that are compared."""
    most_used = used.most_common(MOST_TYPES)
    return lambda word: [other for other, number in most_used if number > used[word]]


def find_type_slips(
    blocks: Sequence[Block], texts: Sequence[CheckedText], rules: KnitRules, used: Mapping[str, int] | None = None
) -> Iterator[Finding]:
    """Yield the types of parts that are nearly a type of ours, or nearly one that more parts have.

    used: how many parts of the project have each type; by default, those of the document count."""
    parts = list(typed_parts(blocks, texts))
    uses = Counter(used if used is not None else (word for _, word in parts))
    known = _COMMON | (rules.div_types - {RAG_ONLY})
    more = _more_used(uses)

    @cache
    def meant_by(word: str) -> str:
        return nearest(word, sorted(known.union(more(word))))

    for line, word in parts:
        if word in known or word in rules.allowed or word == RAG_ONLY:
            continue
        if meant := meant_by(word):
            yield Finding(line, "type-word", f"the type {word!r} is nearly {meant!r}: write {meant!r} if that is meant")
