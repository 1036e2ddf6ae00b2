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
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ..files.walk import INDEXED, TEXT_SUFFIXES, is_inside
from ..logging import counted
from ..store.vector_store import VectorStore
from .collection import ainitialize_collection
from .encoding import Encoder, compare_choices, is_earlier
from .records import BEGUN, FILES, FileRecord, begin_files, create_records, read_records

if TYPE_CHECKING:
    from ..store.qdrant_store import ServerStore

SHOWN = 3  # names in a sentence
NEW = re.compile(r"(?P<name>.*)\.lmm-[0-9a-f]{8}(?:\.files)?", re.S)


def are_earlier(store: VectorStore, encoders: Mapping[str, Encoder]) -> bool:
    """Return True if an earlier version made any of the collections, which are given with their encoders.

    Raise StoreError if they were made otherwise."""
    found = False
    for name, encoder in encoders.items():
        if (known := store.metadata(name)) is not None:
            compare_choices(name, known, encoder.identity())
            found |= is_earlier(known)
    return found


async def make_collections(store: VectorStore, name: str, encoders: Mapping[str, Encoder], anew: bool) -> None:
    """Make the collections that are missing, or, with `anew`, all.

    name: the one whose files are recorded. Raise StoreError and ModelError; the old collections are
    removed only when it is sure that the embedding model answers."""
    if anew:
        for encoder in encoders.values():
            await encoder.spec()
        await asyncio.to_thread(_drop, store, name, encoders)
    for one, encoder in encoders.items():
        await ainitialize_collection(store, one, encoder)
    if await asyncio.to_thread(store.metadata, name + FILES) is None:
        await asyncio.to_thread(create_records, store, name)


def _drop(store: VectorStore, name: str, collections: Iterable[str]) -> None:
    begin_files(store, name, read_records(store, name).values())
    for one in collections:
        store.drop(one)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The recorded files that a run has to index although they were not named: those that a run
    began and did not end, and all of a collection of an earlier version.

    paths: those that can be read; missing: the sources of the others."""

    paths: list[Path]
    missing: list[str]

    def describe(self, named: int, dry_run: bool) -> str:
        """Return the sentence that an index of an earlier version is made anew from these files and the named ones."""
        made = "would be made" if dry_run else "is made"
        said = f"the index was made by an earlier version of LM markdown, and {made} anew from "
        said += counted(named + len(self.paths), "file")
        if not self.missing:
            return said
        more = ", …" if len(self.missing) > SHOWN else ""
        names = ", ".join(self.missing[:SHOWN])
        return (
            f"{said}, without {counted(len(self.missing), 'document')} that the project no longer has ({names}{more})"
        )


def find_unfinished(records: Mapping[str, FileRecord], named: Collection[str], root: Path) -> Unfinished:
    """Return the recorded files to be indexed beside those that are named by their sources.

    Only documents in the project are read, since a record may name any file. root: the project's."""
    begun = sorted(record.source for record in records.values() if record.fingerprint == BEGUN)
    found = Unfinished([], [])
    for source in begun:
        if source not in named:
            found.paths.append(root / source) if _is_own(root / source, root) else found.missing.append(source)
    return found


def _is_own(path: Path, root: Path) -> bool:
    return path.suffix.lower() in {*INDEXED, *TEXT_SUFFIXES} and path.is_file() and is_inside(path, root)


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
