"""Create, fill, query and describe collections of chunks."""

from __future__ import annotations

import asyncio
import atexit
import json
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from ..errors import FolderError, StoreError
from ..files.marked import own_place
from ..files.walk import size_on_disk
from ..logging import counted
from ..markdown.blocks import Block, TextBlock
from ..markdown.metadata.body import dump_entry
from ..markdown.spelling import make_block
from ..models.addresses import shown_address
from ..models.languages.stemming import language_name
from ..settings.models import Models
from ..settings.project import Project
from ..store.vector_store import Point, ScoredPoint, VectorSpec, VectorStore, Where, run_in_thread
from .encoding import VERSION, Encoder, compare_identity, version_of
from .records import (
    FILES,
    INDEXES,
    Changes,
    FileRecord,
    begin_files,
    check_collections,
    read_records,
    write_changes,
)

if TYPE_CHECKING:
    from ..store.qdrant_store import ServerStore
    from .chunks import Chunk

_KEYWORD = re.compile(r"\*([^\W\d_][\w-]*)\*")
NOTHING = "Nothing is indexed here yet. To index the notes, run: lmm index ."
GROUP = "document"


async def ainitialize_collection(store: VectorStore, name: str, encoder: Encoder) -> bool:
    """Create a collection for an encoder. Return True if it is new. Raise ModelError, or StoreError if it differs."""
    identity = encoder.identity()
    stored = await asyncio.to_thread(store.metadata, name)
    if stored is not None:
        compare_identity(name, stored, identity)
        return False
    spec = await encoder.spec()
    await asyncio.to_thread(store.create, name, spec, identity, INDEXES)
    return True


async def aupload(store: VectorStore, name: str, encoder: Encoder, chunks: Sequence[Chunk]) -> list[Point]:
    """Encode and write chunks, and return the points. Raise StoreError and ModelError."""
    await ainitialize_collection(store, name, encoder)
    return await write_changes(store, name, encoder, Changes(list(chunks), [], [], 0))


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query without its type keyword (`*exercise*`), and the type, or ""."""

    text: str
    type: str = ""


def parse_query(text: str, types: Sequence[str]) -> ParsedQuery:
    """Extract the type keyword of a query, if the collection has that type."""
    by_name = {name.casefold(): name for name in types}
    for match in _KEYWORD.finditer(text):
        if type := by_name.get(match[1].casefold()):
            rest = " ".join((text[: match.start()] + text[match.end() :]).split())
            return ParsedQuery(rest or match[1], type)
    return ParsedQuery(text)


def unknown_keywords(text: str, types: Iterable[str]) -> list[str]:
    """Return the type keywords in a query that are no types of the collection."""
    names = {name.casefold() for name in types}
    return [match[1] for match in _KEYWORD.finditer(text) if match[1].casefold() not in names]


async def aquery(
    store: VectorStore, name: str, encoder: Encoder, text: str, limit: int = 6, where: Where | None = None
) -> list[ScoredPoint]:
    """Return the best chunks for a text, best first. Raise StoreError and ModelError.

    A type keyword in the text (`*exercise*`) limits them to that type."""
    stored = await run_in_thread(store.metadata, name)
    if stored is None:
        raise StoreError(f"There is no collection {name!r}. Run `lmm index FILES` to make it.")
    compare_identity(name, stored, encoder.identity())
    types = list(await run_in_thread(store.facet, name, "type")) if "*" in text else []
    query = parse_query(text, types)
    if query.type:
        where = Where({**(where.all if where else {}), "type": query.type}, where.none if where else {})
    languages = sorted(await run_in_thread(store.facet, name, "language")) if encoder.has_words else ()
    [search] = await encoder.searches([query.text], limit, where, languages=languages)
    return await run_in_thread(store.search, name, search)


def chunks_for(documents: int) -> int:
    """Return the number of chunks to search for a number of documents."""
    return max(50, documents * 10)


async def afind_documents(
    store: VectorStore, companion: str, chunks: Sequence[ScoredPoint], limit: int
) -> list[ScoredPoint]:
    """Return the distinct documents of chunks, each with the place and score of its best chunk. Raise StoreError."""
    best: dict[str, float] = {}
    for chunk in chunks:
        if group := chunk.payload.get(GROUP):
            best.setdefault(str(group), chunk.score)
    groups = list(best)[:limit]
    stored = {point.id: point for point in await run_in_thread(store.retrieve, companion, groups)} if groups else {}
    return [replace(stored[ident], score=best[ident]) for ident in groups if ident in stored]


def points_to_blocks(points: Sequence[Point | ScoredPoint]) -> list[Block]:
    """Return points as markdown: each text under a metadata block with its payload and score."""
    blocks: list[Block] = []
    for point in points:
        payload = dict(point.payload or {})
        text, score = payload.pop("page_content", ""), getattr(point, "score", None)
        payload.pop("hash", None)
        entries = payload if score is None else {"score": round(score, 4), **payload}
        body = "".join(dump_entry(key, value) for key, value in entries.items())
        blocks += [make_block(body, "div"), TextBlock(f"{text}\n\n")]
    return blocks


# Description of an index


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """The contents and making of a collection.

    encoding, embedding, sparse: as configured, "" for none
    languages: points by code, "" if unknown; is_earlier: made by an earlier version"""

    name: str
    points: int
    encoding: str
    embedding: str
    sparse: str
    languages: dict[str, int]
    is_earlier: bool


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The contents of a project's index.

    place: folder or server; size: bytes on this disk, None on a server
    written: last change, in seconds since 1970, or 0"""

    place: str
    size: int | None
    documents: int
    written: float
    collections: list[CollectionInfo]

    def summary(self) -> str:
        if not self.collections:
            return f"{self.place}: {NOTHING}"
        parts = [counted(self.documents, "document")]
        parts += [f"{self.size / 1e6:,.1f} MB"] if self.size is not None else []
        parts += [f"last written {describe_age(time.time() - self.written)} ago"] if self.written else []
        return f"{self.place}: {', '.join(parts)}"

    def lines(self) -> list[str]:
        return [self.summary(), *map(_describe_collection, self.collections)]


def _read_collection(store: VectorStore, name: str) -> CollectionInfo | None:
    identity = store.metadata(name)
    if identity is None:
        return None
    encoding, embedding, sparse = (str(identity.get(key) or "") for key in ("encoding", "embedding", "sparse"))
    languages = store.facet(name, "language")
    is_earlier = version_of(identity) < VERSION
    return CollectionInfo(name, store.count(name), encoding, embedding, sparse, languages, is_earlier)


def _describe_collection(info: CollectionInfo) -> str:
    how = f"{info.encoding} ({info.embedding or 'words alone'})" if info.embedding or info.sparse else "without vectors"
    languages = [f"{language_name(code) if code else 'unknown'} {count}" for code, count in info.languages.items()]
    version = ["made by an earlier version: lmm index FILES rebuilds it"] if info.is_earlier else []
    facts = filter(None, [counted(info.points, "point"), how, ", ".join(languages), *version])
    return f"  {info.name}: {'; '.join(facts)}"


def describe_age(seconds: float) -> str:
    """Return a duration in words, in the largest unit that fits twice."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(int(seconds // length), unit)
    return counted(max(int(seconds), 0), "second")


# Missing collections, and earlier versions

NEW = re.compile(r"(?P<name>.*)\.lmm-[0-9a-f]{8}(?:\.files)?", re.S)


async def make_collections(
    store: VectorStore, name: str, encoders: Mapping[str, Encoder], records: Sequence[FileRecord], anew: bool
) -> None:
    """Create the missing collections, or, with `anew`, all. name: the one with records. Raise StoreError, ModelError.

    The embedding model is tried before old collections are removed."""
    if anew:
        for encoder in encoders.values():
            await encoder.spec()
        await asyncio.to_thread(_drop, store, name, encoders, records)
    for collection, encoder in encoders.items():
        await ainitialize_collection(store, collection, encoder)
    if await asyncio.to_thread(store.metadata, name + FILES) is None:
        # Without indexes, which would take 0.4 KB of memory per file
        await asyncio.to_thread(store.create, name + FILES, VectorSpec(), {}, {})


def _drop(store: VectorStore, name: str, collections: Iterable[str], records: Sequence[FileRecord]) -> None:
    if records:
        begin_files(store, name, [replace(record, fingerprint="") for record in records])
    else:  # or unreadable
        store.drop(name + FILES)
    for collection in collections:
        store.drop(collection)


# Server: new collections beside the old ones


def new_names(collection: str, companion: str) -> tuple[str, str]:
    """Return names for new collections of chunks and documents."""
    run = uuid4().hex[:8]
    return f"{collection}.lmm-{run}", f"{companion}.lmm-{run}"


def put_in_service(store: ServerStore, collections: Mapping[str, str]) -> None:
    """Give new collections their names, and remove the old ones. Raise StoreError.

    collections: new ones by name, which a first index without aliases has to free"""
    existing = store.collections()
    for name in collections:
        if name in existing:
            store.drop(name)
    store.switch(collections)
    remove_unused(store, collections)


def remove_unused(store: ServerStore, names: Mapping[str, str]) -> None:
    """Remove collections left by interrupted rebuilds."""
    used = set(store.aliases().values())
    for collection in store.collections():
        new = NEW.fullmatch(collection)
        if new and {new["name"], new["name"].removesuffix(FILES)} & names.keys() and collection not in used:
            store.drop(collection)


# The store of a project

_open: dict[str, VectorStore] = {}


def project_store(project: Project, *, reads: bool = False) -> VectorStore:
    """Open a project's store, which the caller closes. reads: copy it if it is read-only. Raise StoreError."""
    from ..store.places import LocalStorage, RemoteSource, open_store

    database = project.database
    storage = project.storage
    check_collections(database.collection_name, database.companion_collection)
    if storage.memory:
        return open_store(":memory:")
    if storage.url:
        return open_store(RemoteSource(storage.url, storage.port or None, storage.timeout, storage.file))
    try:
        return open_store(LocalStorage(own_place(project.root, Path(storage.folder))), reads=reads)
    except FolderError as error:
        raise StoreError(str(error)) from error


def shared_store(project: Project) -> VectorStore:
    """Return a project's shared store. Raise StoreError."""
    place = json.dumps([str(project.root), asdict(project.storage), asdict(project.database)], default=str)
    if place not in _open:
        _open[place] = project_store(project)
        atexit.register(_open[place].close)
    return _open[place]


@asynccontextmanager
async def open_index(project: Project, models: Models) -> AsyncIterator[VectorStore]:
    """Open a project's store, and close it and the models after the block. Raise StoreError and ConfigError."""
    store = await asyncio.to_thread(project_store, project)
    try:
        yield store
    finally:
        await models.close()
        store.close()


def index_info(project: Project, opened: VectorStore | None = None) -> IndexInfo:
    """Describe a project's index. opened: its store, if open. Raise StoreError and ConfigError."""
    names, storage = collection_names(project), project.storage
    store = opened or project_store(project, reads=True)
    folder = None if storage.memory or storage.url else project.root / storage.folder
    place = str(folder) if folder else shown_address(storage.url) if storage.url else "memory"
    try:
        collections = [info for name in names[:2] if (info := _read_collection(store, name))]
        records = read_records(store, names[0]).values()
        latest = max((record.written for record in records), default=0.0)
        return IndexInfo(place, size_on_disk(folder) if folder else None, len(records), latest, collections)
    finally:
        if opened is None:
            store.close()


def collection_names(project: Project) -> list[str]:
    """Return the project's collection names, chunks first."""
    name = project.database.collection_name
    return [name, project.database.companion_collection, name + FILES]
