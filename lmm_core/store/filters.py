"""Build payload filters for Qdrant's libraries.

library: `qdrant_edge` or `qdrant_client.models`, with equal class names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .vector_store import Where


def filter_from(where: Where | None, library: Any) -> Any:
    """Return the filter for a Where, or None to match every point."""
    if where is None or not (where.all or where.none):
        return None
    must = [_condition(key, value, library) for key, value in where.all.items()]
    must_not = [_condition(key, value, library) for key, value in where.none.items()]
    return library.Filter(must=must or None, must_not=must_not or None)


def _condition(key: str, accepted: str | int | Sequence[str | int], library: Any) -> Any:
    """Return the condition on a key's value or values. (A list may have one type only.)"""
    if isinstance(accepted, (str, int)):
        return library.FieldCondition(key=key, match=library.MatchValue(value=accepted))
    texts = [value for value in accepted if isinstance(value, str)]
    numbers = [value for value in accepted if not isinstance(value, str)]
    lists = [values for values in (texts, numbers) if values] or [[]]
    fits = [library.FieldCondition(key=key, match=library.MatchAny(any=values)) for values in lists]
    return fits[0] if len(fits) == 1 else library.Filter(should=fits)
