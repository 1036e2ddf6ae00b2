"""Refreshing a collection: what changes it needs, and the records of what its files were made from.

Only what has changed is embedded and written. New points are written first, then payloads of what has moved, then
what is gone is removed: a failure half-way leaves the old version complete. A companion collection `NAME.files`
remembers what the points of each file were made from, so that an unchanged file is not even parsed. A file is
recorded there as begun before the first of its points changes, and as done after the last: a run
that ends in between, however it ends, leaves a record that fits no file, whatever the file holds by
then. That a file is begun is written ahead: it holds until the store is closed, since a power cut may
take points and leave the record that they are done.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files.names import clash
from ..logging import counted
from ..store.points import checked_name
from ..store.vector_store import Point, ScoredPoint, VectorSpec, VectorStore, Where
from .statistics import TermStatistics, unpack_statistics

if TYPE_CHECKING:
    from .chunks import Chunk
    from .encoding import Encoder

BATCH = 256
FILES = ".files"
BEGUN = "begun"  # in place of a fingerprint; no file has it
INDEXES: dict[str, Any] = {
    "docid": "keyword",
    "source": "keyword",
    "type": "keyword",
    "language": "keyword",
    "section_path": "keyword",
}


def check_collections(name: str, companion: str) -> None:
    """Check the names of a collection, its companion and its records, which have to differ. Raise StoreError."""
    names = {"the collection": name, "the companion collection": companion, "the records of files": name + FILES}
    for one in names.values():
        checked_name(one)
    if found := clash(names):
        raise StoreError(
            f"{found[0]} ({names[found[0]]!r}) and {found[1]} ({names[found[1]]!r}) would be one. Give them names that "
            "differ by more than case (collection_name and companion_collection in [database] of config.toml)."
        )


@dataclass(slots=True)
class Counts:
    """The result of a refresh in numbers.

    Chunks are `written` (with vectors), `moved` (the payload alone), `removed` or `unchanged`.
    `documents` counts those that were compared, `same` those that had not changed at all.
    """

    written: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    documents: int = 0
    same: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.written + other.written,
            self.moved + other.moved,
            self.removed + other.removed,
            self.unchanged + other.unchanged,
            self.documents + other.documents,
            self.same + other.same,
        )

    def describe(self, dry_run: bool = False) -> str:
        """Return in words what a run has done, or would do."""
        would = "would be " if dry_run else ""
        if not self.documents:
            removed = f", {counted(self.removed, 'chunk')} {would}removed" if self.removed else ""
            return f"{counted(self.same, 'document')} unchanged{removed}" if self.same else f"no documents{removed}"
        moved = f", {self.moved} moved" if self.moved else ""
        written = f"{counted(self.documents, 'document')}, {counted(self.written, 'chunk')} {would}written"
        return f"{written}, {self.removed} removed{moved}, {self.unchanged} unchanged"


@dataclass
class Changes:
    """The changes that some documents need."""

    new: list[Chunk]
    moved: list[Chunk]
    gone: list[str]
    unchanged: int

    @property
    def counts(self) -> Counts:
        """The changes as numbers."""
        return Counts(len(self.new), len(self.moved), len(self.gone), self.unchanged)


def find_changes(
    store: VectorStore, collection: str, docids: Sequence[str], sources: Sequence[str], chunks: Iterable[Chunk]
) -> Changes:
    """Compare documents with what is stored under their ids, and of their files under any id. Raise StoreError.

    chunks: those of all the documents."""
    known = {point.id: point.payload for point in store.scroll(collection, Where({"docid": docids}))}
    if sources:
        known |= {point.id: point.payload for point in store.scroll(collection, Where({"source": sources}))}
    changes = Changes([], [], [], 0)
    wanted = {chunk.uuid: chunk for chunk in chunks}
    for ident, chunk in wanted.items():
        payload = known.get(ident)
        if payload is None or payload.get("hash") != chunk.hash:
            changes.new.append(chunk)
        elif payload != chunk.payload:
            changes.moved.append(chunk)
        else:
            changes.unchanged += 1
    changes.gone = [ident for ident in known if ident not in wanted]
    return changes


async def write_changes(
    store: VectorStore,
    collection: str,
    encoder: Encoder,
    changes: Changes,
    written: Callable[[int], None] = lambda count: None,
) -> list[Point]:
    """Write the changes and return the points that were written.

    `written` is told how many chunks are done. Raise StoreError and ModelError; what was done by
    then stays.
    """
    points: list[Point] = []
    for start in range(0, len(changes.new), BATCH):
        batch = changes.new[start : start + BATCH]
        vectors = await encoder.encode([chunk.texts for chunk in batch])
        made = [Point(chunk.uuid, found, chunk.payload) for chunk, found in zip(batch, vectors, strict=True)]
        await asyncio.to_thread(store.upsert, collection, made)
        points += made
        written(len(batch))
    if changes.moved:
        await asyncio.to_thread(store.set_payload, collection, {chunk.uuid: chunk.payload for chunk in changes.moved})
    if changes.gone:
        await asyncio.to_thread(store.delete, collection, changes.gone)
    return points


# Records of files


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A record of what a file's chunks were made from.

    `fingerprint` is that of its bytes and of the settings, or BEGUN; `count` is the number of chunks.
    `written` is when the chunks were, in seconds since 1970, 0 if that is not known. `system` is the
    system message in the file's header, "" for none; `statistics` those of its words (see
    `TermStatistics.packed`), "" if they were not asked for.
    """

    source: str
    docid: str
    fingerprint: str
    count: int
    written: float = 0.0
    system: str = ""
    statistics: str = ""


_BRIEF = [field.name for field in fields(FileRecord) if field.name != "statistics"]
_WHOLE = "whole"  # in the record of the statistics of all files: what stands for the records of these


def read_records(store: VectorStore, collection: str, statistics: bool = False) -> dict[str, FileRecord]:
    """Return the records of a collection's files, by source. statistics: with those. Raise StoreError."""
    if store.metadata(collection + FILES) is None:
        return {}
    points = store.scroll(collection + FILES, keys=None if statistics else _BRIEF)
    return {record.source: record for record in map(_record, points) if record.source}


def read_statistics(store: VectorStore, collection: str, records: Iterable[FileRecord]) -> TermStatistics | None:
    """Return the statistics of a collection's words, or None if some file has none. records: of all files, without
    theirs. Raise StoreError."""
    whole = store.retrieve(collection + FILES, [_record_id(_WHOLE)])
    if whole and whole[0].payload.get(_WHOLE) == state_of(records):
        return unpack_statistics(whole[0].payload["statistics"])
    return _add_statistics(read_records(store, collection, statistics=True).values())


def _add_statistics(records: Collection[FileRecord]) -> TermStatistics | None:
    if not records or not all(record.statistics for record in records):
        return None
    whole = TermStatistics()
    for record in records:
        whole.update(unpack_statistics(record.statistics))
    return whole


def write_statistics(store: VectorStore, collection: str) -> None:
    """Keep the statistics of all files together, so that a search reads them at once. Raise StoreError."""
    records = read_records(store, collection, statistics=True).values()
    if (whole := _add_statistics(records)) is not None:
        payload = {_WHOLE: state_of(records), "statistics": whole.packed()}
        store.upsert(collection + FILES, [Point(_record_id(_WHOLE), {}, payload)])


def state_of(records: Iterable[FileRecord]) -> str:
    """Return what stands for the contents of files: it is another one when one of them was written or removed."""
    lines = sorted(f"{record.source}\0{record.fingerprint or record.written}" for record in records)
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _record(point: ScoredPoint) -> FileRecord:
    payload = point.payload
    return FileRecord(
        str(payload.get("source") or ""),
        str(payload.get("docid")),
        str(payload.get("fingerprint")),
        int(payload.get("count", 0)),
        float(payload.get("written", 0.0)),
        str(payload.get("system") or ""),
        str(payload.get("statistics") or ""),
    )


def write_record(store: VectorStore, collection: str, *records: FileRecord) -> None:
    """Remember files. Raise StoreError."""
    store.upsert(collection + FILES, _points(records))


def _points(records: Iterable[FileRecord]) -> list[Point]:
    return [Point(_record_id(record.source), {}, asdict(record)) for record in records]


def begin_files(store: VectorStore, collection: str, records: Iterable[FileRecord]) -> None:
    """Record that the points of files are about to change.

    A file counts as changed until it is recorded anew and the store is closed. Raise StoreError.
    """
    begun = [replace(one, fingerprint=BEGUN, statistics="") for one in records if one.fingerprint != BEGUN]
    if begun:
        store.write_ahead(collection + FILES, _points(begun))


def remove_files(store: VectorStore, collection: str, records: Sequence[FileRecord], companion: str = "") -> int:
    """Remove what is stored of files. Return the number of chunks removed. Raise StoreError."""
    begin_files(store, collection, records)
    return sum(_remove_file(store, collection, record, companion) for record in records)


def _remove_file(store: VectorStore, collection: str, record: FileRecord, companion: str) -> int:
    where = Where({"source": record.source})
    gone = [point.id for point in store.scroll(collection, where, ["source"])]
    store.delete(collection, gone)
    if companion:
        store.delete(companion, [point.id for point in store.scroll(companion, where, ["source"])])
    store.delete(collection + FILES, [_record_id(record.source)])
    return len(gone)


def create_records(store: VectorStore, collection: str) -> None:
    """Make the collection of records anew, so that no file is known. Raise StoreError."""
    store.drop(collection + FILES)
    store.create(collection + FILES, VectorSpec(), {}, {})  # an index would take 0.4 KB of memory a file


def _record_id(source: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"file\0{source}"))
