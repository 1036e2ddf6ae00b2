"""Create missing collections, and rebuild those of earlier versions.

Stored data can be rebuilt from files at any time. Files are recorded as begun before their collection is removed,
so that the next run resumes after any interruption, for any files.

On a server, new collections (`NAME.lmm-1f2e3d4c`) are filled while the old ones answer, and get the names as aliases
atomically.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from ..store.vector_store import VectorStore
from .collection import ainitialize_collection
from .encoding import Encoder
from .records import FILES, FileRecord, begin_files, create_records

if TYPE_CHECKING:
    from ..store.qdrant_store import ServerStore

NEW = re.compile(r"(?P<name>.*)\.lmm-[0-9a-f]{8}(?:\.files)?", re.S)


async def make_collections(
    store: VectorStore, name: str, encoders: Mapping[str, Encoder], records: Sequence[FileRecord], anew: bool
) -> None:
    """Create the missing collections, or, with `anew`, all. Raise StoreError and ModelError.

    The embedding model is tried before old collections are removed. name: the one whose files are recorded; records: of
    these."""
    if anew:
        for encoder in encoders.values():
            await encoder.spec()
        await asyncio.to_thread(_drop, store, name, encoders, records)
    for one, encoder in encoders.items():
        await ainitialize_collection(store, one, encoder)
    if await asyncio.to_thread(store.metadata, name + FILES) is None:
        await asyncio.to_thread(create_records, store, name)


def _drop(store: VectorStore, name: str, collections: Iterable[str], records: Sequence[FileRecord]) -> None:
    if records:
        begin_files(store, name, [replace(record, fingerprint="") for record in records])
    else:  # or unreadable
        store.drop(name + FILES)
    for one in collections:
        store.drop(one)


# Server: new collections beside the old ones


def new_names(collection: str, companion: str) -> tuple[str, str]:
    """Return names for new collections of chunks and documents."""
    run = uuid4().hex[:8]
    return f"{collection}.lmm-{run}", f"{companion}.lmm-{run}"


def put_in_service(store: ServerStore, collections: Mapping[str, str]) -> None:
    """Give new collections their names, and remove the old ones. Raise StoreError.

    collections: new ones by name. A first index without aliases is removed before, since names are unique."""
    there = store.collections()
    for name in collections:
        if name in there:
            store.drop(name)
    store.switch(collections)
    remove_unused(store, collections)


def remove_unused(store: ServerStore, names: Mapping[str, str]) -> None:
    """Remove collections left by interrupted rebuilds."""
    used = set(store.aliases().values())
    for collection in store.collections():
        made = NEW.fullmatch(collection)
        if made and {made["name"], made["name"].removesuffix(FILES)} & names.keys() and collection not in used:
            store.drop(collection)
