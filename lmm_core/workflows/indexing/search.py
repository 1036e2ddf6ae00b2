"""A search in a project's index."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from ...errors import RetrieveError
from ...index.collection import afind_documents, chunks_for, find_types
from ...retrieve.library import Library
from ...retrieve.search import search_points
from ...settings.models import Models
from ...settings.project import Project
from ...store.vector_store import ScoredPoint, VectorStore, Where
from ..encode import encoder_for

_OF_EACH = {"page_content", "hash", "sequence", "textid", "line_start", "line_end"}  # every chunk has another one


async def find_in_index(
    store: VectorStore,
    project: Project,
    models: Models,
    text: str,
    limit: int = 6,
    kind: str = "",
    no_type: bool = False,
    under: str = "",
    group: bool = False,
    tell: Callable[[str], None] = lambda message: None,
) -> list[ScoredPoint]:
    """Return the chunks that match a text, best first; with `group`, whole sections.

    kind: only chunks of this type; no_type: only chunks without a type; under: only chunks in
    this section (a path like `1.2`) or file; tell: is told the other names that are searched for.
    Raise StoreError, ModelError and RetrieveError."""
    database, encoding = project.database, project.embeddings.encoding
    encoder = await encoder_for(store, project, models, database.collection_name, encoding, reads=True)
    where = await asyncio.to_thread(_where, store, database.collection_name, kind, no_type, under)
    library = Library(store, database.collection_name, encoder, synonyms=project.synonyms)
    for named in (await library.words()).synonyms.used(text):
        tell(str(named))
    if group:
        chunks = await search_points(library, text, chunks_for(limit), where, models.warn)
        return await afind_documents(store, database.collection_name, database.companion_collection, chunks, limit)
    return await search_points(library, text, limit, where, models.warn)


def types_in_index(store: VectorStore, project: Project) -> dict[str, int]:
    """Return the types of material in the index, each with the number of its chunks. Raise StoreError."""
    return {kind: count for kind, count in sorted(find_types(store, project.database.collection_name).items()) if kind}


def values_in_index(store: VectorStore, project: Project, key: str) -> tuple[dict[str, int], int]:
    """Return the values of a key in the index with the numbers of their chunks, the most frequent first, and the
    number of chunks without one.

    Each item of a list counts. Raise StoreError, and RetrieveError if no chunk has the key."""
    name = project.database.collection_name
    if store.metadata(name) is None:
        raise RetrieveError(f"There is no collection {name!r}. Run `lmm index FILES` to make it.")
    payloads = [point.payload for point in store.scroll(name)]
    known = sorted({one for payload in payloads for one in payload} - _OF_EACH)
    if key not in known:
        raise RetrieveError(f"no chunk has a key {key!r} whose values can be listed; there are {', '.join(known)}")
    values = [_values(payload.get(key)) for payload in payloads]
    counts = Counter(value for many in values for value in many)
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))), values.count([])


def _values(value: Any) -> list[str]:
    """Return the values of a key in a chunk as text, each once."""
    found = value if isinstance(value, list) else [] if value is None else [value]
    return list(dict.fromkeys(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in found))


def _where(store: VectorStore, collection: str, kind: str, no_type: bool, under: str) -> Where | None:
    """Return the filter for `find_in_index`, or None if every chunk may be found."""
    wanted: dict[str, str] = {"type": kind} if kind else {}
    if under:
        wanted["source" if "/" in under or not under.replace(".", "").isdigit() else "section_path"] = under
    if not (wanted or no_type):
        return None
    types = list(find_types(store, collection)) if no_type else []
    return Where(wanted, {"type": types} if types else {})
