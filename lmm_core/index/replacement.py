"""Make an index anew on a server beside the one in service, which answers until the new one is complete.

The new collections are `NAME.lmm-1f2e3d4c`; when they are complete, they get the names as aliases, all in the same
moment, and the old ones are removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from uuid import uuid4

from ..store.qdrant_store import ServerStore
from .refresh import FILES

NEW = re.compile(r"(?P<name>.*)\.lmm-[0-9a-f]{8}(?:\.files)?", re.S)


def new_names(collection: str, companion: str) -> tuple[str, str]:
    """Return names for new collections of chunks and of documents."""
    run = uuid4().hex[:8]
    return f"{collection}.lmm-{run}", f"{companion}.lmm-{run}"


def names_in_service(store: ServerStore, collection: str, companion: str) -> tuple[str, str]:
    """Return the collections that have the names now, so that a run works on them whatever gets the names meanwhile.

    Where the records have another name, as those of earlier versions, the names themselves are returned."""
    aliases = store.aliases()
    behind = aliases.get(collection, collection)
    if aliases.get(collection + FILES, collection + FILES) != behind + FILES:
        return collection, companion
    return behind, aliases.get(companion, companion)


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
