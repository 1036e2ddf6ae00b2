"""Find and write the changes of a collection, and keep records of its files.

Only changes are embedded. New points are written first, then the payloads of moved ones, and points are removed last:
a failure leaves the old version complete. The collection `NAME.files` records the hash of each file, so that unchanged
files are not parsed. A file is recorded as begun before its first point changes, and as done after the last, so that an
interrupted file never counts as unchanged. Records of begun files are written ahead, and hold until the store is
closed, since a power cut may lose points.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from itertools import combinations
from operator import add
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..logging import counted
from ..store.points import checked_name, in_batches
from ..store.vector_store import Point, ScoredPoint, VectorStore, Where
from .statistics import TermStatistics, unpack_statistics

if TYPE_CHECKING:
    from .chunks import Chunk
    from .encoding import Encoder

BATCH = 256
FILES = ".files"
BEGUN = "begun"  # in place of the fingerprint of a file that is not completely indexed
INDEXES: dict[str, Any] = {
    "docid": "keyword",
    "source": "keyword",
    "type": "keyword",
    "language": "keyword",
    "section_path": "keyword",
}


def check_collections(name: str, companion: str) -> None:
    """Raise StoreError if collection, companion and records have invalid or equal names."""
    names = {"the collection": name, "the companion collection": companion, "the records of files": name + FILES}
    for collection in names.values():
        checked_name(collection)
    for (owner, collection), (other, same) in combinations(names.items(), 2):
        if collection.casefold() == same.casefold():
            raise StoreError(
                f"{owner} ({collection!r}) and {other} ({same!r}) would be one. Give them names that differ by more "
                "than case (collection_name and companion_collection in [database] of config.toml)."
            )


@dataclass(slots=True)
class Counts:
    """The result of a refresh in numbers.

    moved: chunks changed only in their payload, such as lines
    documents: compared with the index, since their files had changed; same: with unchanged files"""

    written: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    documents: int = 0
    same: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, astuple(self), astuple(other)))

    def describe(self, dry_run: bool = False) -> str:
        """Return the numbers in words. dry_run: say what would be done."""
        would = "would be " if dry_run else ""
        if not self.documents:
            removed = f", {counted(self.removed, 'chunk')} {would}removed" if self.removed else ""
            return f"{counted(self.same, 'document')} unchanged{removed}" if self.same else f"no documents{removed}"
        moved = f", {self.moved} moved" if self.moved else ""
        written_text = f"{counted(self.documents, 'document')}, {counted(self.written, 'chunk')} {would}written"
        return f"{written_text}, {self.removed} removed{moved}, {self.unchanged} unchanged"


@dataclass
class Changes:
    """The changes of some documents.

    moved: chunks whose payload alone changes; gone: ids of points to remove; unchanged: number of other chunks"""

    new: list[Chunk]
    moved: list[Chunk]
    gone: list[str]
    unchanged: int

    @property
    def counts(self) -> Counts:
        return Counts(len(self.new), len(self.moved), len(self.gone), self.unchanged)


def find_changes(
    store: VectorStore, collection: str, docids: Sequence[str], sources: Sequence[str], chunks: Iterable[Chunk]
) -> Changes:
    """Compare documents with their stored chunks, by ids or files. chunks: of all documents. Raise StoreError."""
    stored = {point.id: point.payload for point in store.scroll(collection, Where({"docid": docids}))}
    if sources:
        stored |= {point.id: point.payload for point in store.scroll(collection, Where({"source": sources}))}
    changes = Changes([], [], [], 0)
    by_id = {chunk.uuid: chunk for chunk in chunks}
    for ident, chunk in by_id.items():
        payload = stored.get(ident)
        if payload is None or payload.get("hash") != chunk.hash:
            changes.new.append(chunk)
        elif payload != chunk.payload:
            changes.moved.append(chunk)
        else:
            changes.unchanged += 1
    changes.gone = [ident for ident in stored if ident not in by_id]
    return changes


async def write_changes(
    store: VectorStore,
    collection: str,
    encoder: Encoder,
    changes: Changes,
    written: Callable[[int], None] = lambda count: None,
) -> list[Point]:
    """Write changes, and return the embedded points. What was written before an error stays.

    written: called with the number of chunks of each batch. Raise StoreError and ModelError."""
    points: list[Point] = []
    for batch in in_batches(changes.new, BATCH):
        vectors = await encoder.encode([chunk.texts for chunk in batch])
        new_points = [
            Point(chunk.uuid, chunk_vectors, chunk.payload) for chunk, chunk_vectors in zip(batch, vectors, strict=True)
        ]
        await asyncio.to_thread(store.upsert, collection, new_points)
        points += new_points
        written(len(batch))
    if changes.moved:
        await asyncio.to_thread(store.set_payload, collection, {chunk.uuid: chunk.payload for chunk in changes.moved})
    if changes.gone:
        await asyncio.to_thread(store.delete, collection, changes.gone)
    return points


# Records of files


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The record of an indexed file.

    fingerprint: hash of the file's bytes and of settings, or BEGUN
    written: when it was indexed, in seconds since 1970; 0 if unknown
    system: system message in its header, or ""
    statistics: see `TermStatistics.packed`; "" if not requested"""

    source: str
    docid: str
    fingerprint: str
    count: int
    written: float = 0.0
    system: str = ""
    statistics: str = ""


_BRIEF = [field.name for field in fields(FileRecord) if field.name != "statistics"]
_WHOLE = "whole"  # for the statistics of all files: the state of their records


def read_records(store: VectorStore, collection: str, statistics: bool = False) -> dict[str, FileRecord]:
    """Return the records of a collection's files, by source. statistics: large, if wanted. Raise StoreError."""
    if store.metadata(collection + FILES) is None:
        return {}
    points = store.scroll(collection + FILES, keys=None if statistics else _BRIEF)
    return {record.source: record for record in map(_record, points) if record.source}


def read_statistics(store: VectorStore, collection: str, records: Iterable[FileRecord]) -> TermStatistics | None:
    """Return a collection's word statistics, or None if a file has none. records: of all files. Raise StoreError."""
    joint = store.retrieve(collection + FILES, [_record_id(_WHOLE)])
    if joint and joint[0].payload.get(_WHOLE) == state_of(records):
        return unpack_statistics(joint[0].payload["statistics"])
    return _add_statistics(read_records(store, collection, statistics=True).values())


def _add_statistics(records: Collection[FileRecord]) -> TermStatistics | None:
    if not records or not all(record.statistics for record in records):
        return None
    joint = TermStatistics()
    for record in records:
        joint.update(unpack_statistics(record.statistics))
    return joint


def write_statistics(store: VectorStore, collection: str) -> None:
    """Store the sum of all files' statistics, for searches. Raise StoreError."""
    records = read_records(store, collection, statistics=True).values()
    if (joint := _add_statistics(records)) is not None:
        payload = {_WHOLE: state_of(records), "statistics": joint.packed()}
        store.upsert(collection + FILES, [Point(_record_id(_WHOLE), {}, payload)])


def state_of(records: Iterable[FileRecord]) -> str:
    """Return a hash that changes when a file is written or removed."""
    lines = sorted(f"{record.source}\0{record.fingerprint or record.written}" for record in records)
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _record(point: ScoredPoint) -> FileRecord:
    source, docid, fingerprint = (str(point.payload.get(key) or "") for key in ("source", "docid", "fingerprint"))
    system, statistics = (str(point.payload.get(key) or "") for key in ("system", "statistics"))
    count, written = int(point.payload.get("count", 0)), float(point.payload.get("written", 0.0))
    return FileRecord(source, docid, fingerprint, count, written, system, statistics)


def write_records(store: VectorStore, collection: str, records: Iterable[FileRecord]) -> None:
    """Write records of files. Raise StoreError."""
    store.upsert(collection + FILES, _points(records))


def _points(records: Iterable[FileRecord]) -> list[Point]:
    return [Point(_record_id(record.source), {}, asdict(record)) for record in records]


def begin_files(store: VectorStore, collection: str, records: Iterable[FileRecord]) -> None:
    """Record files as begun, until they are done and the store is closed. Raise StoreError."""
    begun = [replace(record, fingerprint=BEGUN, statistics="") for record in records if record.fingerprint != BEGUN]
    if begun:
        store.write_ahead(collection + FILES, _points(begun))


def remove_files(store: VectorStore, collection: str, records: Sequence[FileRecord], companion: str) -> int:
    """Remove files from the store. Return the number of removed chunks. Raise StoreError."""
    begin_files(store, collection, records)
    removed = 0
    for record in records:
        where = Where({"source": record.source})
        ids = [point.id for point in store.scroll(collection, where, ["source"])]
        store.delete(collection, ids)
        store.delete(companion, [point.id for point in store.scroll(companion, where, ["source"])])
        store.delete(collection + FILES, [_record_id(record.source)])
        removed += len(ids)
    return removed


def _record_id(source: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"file\0{source}"))
