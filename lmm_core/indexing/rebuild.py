"""Make collections: those that are missing, and those of an earlier version anew.

What is stored is derived from files, so that it can be made anew at any time. The files of a
collection are recorded as begun before it is removed: whatever ends the run, the next one goes on,
whichever files it is given.

On a server the new collections are filled beside those in service, which answer until they are complete: they are
`NAME.lmm-1f2e3d4c`, and get the names as aliases, all in the same moment.
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
    """Make the collections that are missing, or, with `anew`, all.

    name: the one whose files are recorded; records: of these. Raise StoreError and ModelError; the old collections are
    removed only when it is sure that the embedding model answers."""
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
    else:  # or they could not be read
        store.drop(name + FILES)
    for one in collections:
        store.drop(one)


# On a server: new collections beside those in service


def new_names(collection: str, companion: str) -> tuple[str, str]:
    """Return names for new collections of chunks and of documents."""
    run = uuid4().hex[:8]
    return f"{collection}.lmm-{run}", f"{companion}.lmm-{run}"


def put_in_service(store: ServerStore, collections: Mapping[str, str]) -> None:
    """Give new collections their names, and remove the old ones. Raise StoreError.

    collections: the new one for each name. A first index has its names itself; it is removed before, since a name
    cannot mean two."""
    there = store.collections()
    for name in collections:
        if name in there:
            store.drop(name)
    store.switch(collections)
    remove_unused(store, collections)


def remove_unused(store: ServerStore, names: Mapping[str, str]) -> None:
    """Remove the collections that were made for some names and do not have them, as those of a run that was ended."""
    used = set(store.aliases().values())
    for collection in store.collections():
        made = NEW.fullmatch(collection)
        if made and {made["name"], made["name"].removesuffix(FILES)} & names.keys() and collection not in used:
            store.drop(collection)
