"""Store collections in a folder with Qdrant Edge, the engine in this process.

`folder/NAME/shard/` is the engine's, `folder/NAME/collection.json` ours; a collection exists with that file. Folders
are marked (`files.marked`); unmarked ones are never opened, written to or removed.

The engine logs each change, so that writes survive the end of the process. Against power cuts, a collection is synced
on creation, after every `SEGMENT` points, and on close; `write_ahead` writes to a synced file.
Free space is checked before each batch, because a full disk kills the process (SIGBUS in a memory map).

New points are in a memory segment, rebuilt as files after every `SEGMENT` points, which bounds memory and the time to
close.
"""

from __future__ import annotations

import json
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files.marked import check_inside, check_no_links, hide_from_git, is_ours, make_marked, remove_marked
from .edge_engine import (
    count_indexed,
    edge_config,
    edge_point,
    engine_errors,
    index_payload,
    payload_size,
    point_size,
    retrieve_points,
    search_shard,
    texts_in,
    why_not_opened,
)
from .folder_files import (
    AHEAD,
    COLLECTION,
    RECORD,
    check_room,
    has_room_to_copy,
    load_record,
    note_points,
    noted_points,
    remove_collection,
    save_record,
)
from .folder_lock import FolderLock
from .points import checked_id, checked_name, checked_points, in_batches
from .ranking import run_search
from .sparse_files import cut_holes, put_back_holes
from .vector_store import (
    PayloadIndexes,
    Point,
    ScoredPoint,
    Search,
    VectorSpec,
    VectorStore,
    Where,
    filter_from,
)

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from qdrant_edge import EdgeShard

INDEX = "index"  # folder kind
BATCH = 256  # points in one operation
PAGE = 1000  # points read at once
SEGMENT = 8_192  # points per segment; opening replays unflushed ones from the log
SHARE, MOST = 8, 16_384  # an eighth of a larger collection, with a maximum: each segment costs 5 ms at opening
SMALL = 500  # points; below, filtering without payload indexes (4 ms) saves 200 syncs


def open_copy(folder: Path) -> EdgeStore:
    """Return a store on a copy of a read-only folder. Raise StoreError."""
    import shutil
    from tempfile import TemporaryDirectory

    copy = TemporaryDirectory(prefix="lmm-index-")
    with engine_errors(f"The index in {folder} cannot be opened"):
        is_ours(folder, INDEX)
        copied = Path(shutil.copytree(folder, Path(copy.name, INDEX), symlinks=True))
        for path in (copied, *copied.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
    return EdgeStore(copied, copy)


class EdgeStore(VectorStore):
    """The collections in a folder, for one process at a time. copy: removed on close."""

    def __init__(self, folder: Path, copy: TemporaryDirectory[str] | None = None) -> None:
        self.folder, self._copy = folder, copy
        self._lock = FolderLock(folder)
        self._alone = threading.RLock()
        self._shards: dict[str, EdgeShard] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._unsettled: Counter[str] = Counter()  # changed points since the last `_settle`
        self._ahead: set[str] = set()  # collections with points written ahead
        self._revision = object()
        self._closed = False
        if self._is_there():
            self._lock.take()

    @property
    def revision(self) -> object | None:
        """The current state: the lock excludes other writers."""
        return self._revision if self._lock.held and not self._closed else None

    def _is_there(self) -> bool:
        """Return True if the folder exists. Raise StoreError if it is not ours."""
        with engine_errors(f"The index in {self.folder} cannot be opened"):
            return is_ours(self.folder, INDEX)

    # Collections

    def collections(self) -> list[str]:
        with self._alone:
            self._check_open()
            return sorted(path.parent.name for path in self.folder.glob(f"*/{RECORD}"))

    def create(self, name: str, spec: VectorSpec, metadata: Mapping[str, Any], indexes: PayloadIndexes) -> None:
        with self._alone:
            if self._record(name) is not None:
                raise StoreError(f"There is already a collection {name!r} in {self.folder}.")
            self._own_folder()
            check_room(self.folder, 0)
            self._revision = object()
            with engine_errors(f"The collection {name!r} cannot be created in {self.folder}"):
                self._make_shard(name, spec)
                record = {"spec": asdict(spec), "metadata": dict(metadata), "indexes": dict(indexes)}
                save_record(self._path(name), record)

    def _own_folder(self) -> None:
        if self._lock.held:
            return
        with engine_errors(f"The folder {self.folder} cannot be created"):
            make_marked(self.folder, INDEX)
            hide_from_git(self.folder)
        self._lock.take()

    def _make_shard(self, name: str, spec: VectorSpec) -> None:
        import qdrant_edge as edge

        path = self._path(name)
        remove_marked(path, COLLECTION)  # left by an interrupted creation or removal
        make_marked(path, COLLECTION)
        (path / "shard").mkdir()
        self._shards[name] = edge.EdgeShard.create(str(path / "shard"), edge_config(spec))
        self._shards[name].flush()  # the record must not name points that a power cut may lose

    def metadata(self, name: str) -> dict[str, Any] | None:
        with self._alone:
            record = self._record(name)
            return None if record is None else json.loads(json.dumps(record["metadata"]))

    def drop(self, name: str) -> None:
        with self._alone:
            if self._record(name) is None:
                return
            self._revision = object()
            with engine_errors(f"The collection {name!r} cannot be removed from {self.folder}"):
                self._forget(name)
                del self._records[name]
                remove_collection(self._path(name))

    def _forget(self, name: str) -> None:
        """Close a shard, which syncs its files."""
        del self._unsettled[name]
        if shard := self._shards.pop(name, None):
            shard.close()
            if self._lock.is_of_folder:  # else another process may use the same file names
                with suppress(OSError):  # uncut files only waste space
                    cut_holes(self._path(name))

    # Writing

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        import qdrant_edge as edge

        with self._write_access(name) as shard:
            fitting = checked_points(points, self._spec(name))
            for batch in self._batches(name, shard, fitting, BATCH, point_size):
                shard.update(edge.UpdateOperation.upsert_points([edge_point(point, edge) for point in batch]))

    def write_ahead(self, name: str, points: Sequence[Point]) -> None:
        with self._write_access(name):
            check_room(self.folder, 0)
            note_points(self._path(name), points)
            self._ahead.add(name)
            self.upsert(name, points)

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        import qdrant_edge as edge

        with self._write_access(name) as shard:
            by_id = {checked_id(at): payload for at, payload in payloads.items()}
            for batch in self._batches(name, shard, list(by_id), BATCH, lambda at: payload_size(by_id[at])):
                for record in shard.retrieve(list(batch), with_payload=False, with_vector=False):
                    payload = dict(by_id[str(record.id)])
                    shard.update(edge.UpdateOperation.overwrite_payload([record.id], payload))

    def delete(self, name: str, ids: Sequence[str]) -> None:
        import qdrant_edge as edge

        with self._write_access(name) as shard:
            for batch in self._batches(name, shard, [checked_id(at) for at in ids], PAGE):
                shard.update(edge.UpdateOperation.delete_points(list(batch)))

    def _batches(
        self, name: str, shard: EdgeShard, values: Sequence[Any], number: int,
        size: Callable[[Any], int] = lambda value: 0,
    ) -> Iterator[Sequence[Any]]:  # fmt: skip
        """Yield batches to write, each if there is room; then rebuild segments if due. size: of a value in bytes."""
        for batch in in_batches(values, number):
            check_room(self.folder, sum(map(size, batch)))
            yield batch
            self._unsettled[name] += len(batch)
            if shard.info().points_count > SMALL:
                index_payload(shard, self._records[name].get("indexes", {}))
        if self._unsettled[name] >= max(SEGMENT, min(shard.info().points_count // SHARE, MOST)):
            self._settle(name, shard)
            shard.flush()  # frees the rebuilt segment and the log
            self._unsettled[name] = 0

    def _settle(self, name: str, shard: EdgeShard) -> None:
        """Rebuild segments that are too large for memory, or lost many points."""
        if has_room_to_copy(self._path(name)):
            shard.optimize()

    # Reading

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        import qdrant_edge as edge

        fits, payload = filter_from(where, edge), True if keys is None else list(keys)
        offset = None
        while True:
            with self._shard(name, "read") as shard:
                records, offset = shard.scroll(
                    edge.ScrollRequest(offset=offset, limit=PAGE, filter=fits, with_payload=payload)
                )
            yield from (ScoredPoint(str(record.id), dict(record.payload or {})) for record in records)
            if offset is None:
                return

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        with self._shard(name, "read") as shard:
            return retrieve_points(shard, [checked_id(at) for at in ids])

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        with self._shard(name, "searched") as shard:
            spec = self._spec(name)
            nearest = partial(search_shard, shard, search.where)
            return run_search(search, spec, nearest, partial(retrieve_points, shard))

    def count(self, name: str) -> int:
        import qdrant_edge as edge

        with self._shard(name, "read") as shard:
            return shard.count(edge.CountRequest(exact=True))

    def facet(self, name: str, key: str) -> dict[str, int]:
        with self._shard(name, "read") as shard:
            if (indexed := count_indexed(shard, key)) is not None:
                return indexed
        counts = Counter(text for point in self.scroll(name, keys=[key]) for text in texts_in(point.payload.get(key)))
        return dict(sorted(counts.items()))

    # Opening and closing

    def close(self) -> None:
        with self._alone:
            self._closed = True
            try:
                for name, shard in list(self._shards.items()):
                    with engine_errors(f"The collection {name!r} in {self.folder} cannot be closed"):
                        if self._unsettled[name] and self._lock.is_of_folder:
                            self._settle(name, shard)
                        self._forget(name)
                for name in self._ahead if self._lock.is_of_folder else ():
                    with suppress(OSError):  # the next run checks begun files again
                        (self._path(name) / AHEAD).unlink(missing_ok=True)
            finally:
                self._shards.clear()
                self._lock.release()
                if self._copy is not None:
                    self._copy.cleanup()

    @contextmanager
    def _shard(self, name: str, participle: str) -> Iterator[EdgeShard]:
        """Open a collection, and turn errors of the engine into StoreError."""
        with self._alone:
            if self._record(name) is None:
                raise StoreError(f"There is no collection {name!r} in {self.folder}.")
            remedy = f"if this comes again, remove {self._path(name)} and index again"
            with engine_errors(f"The collection {name!r} in {self.folder} cannot be {participle}", remedy):
                yield self._shards.get(name) or self._load_shard(name)

    @contextmanager
    def _write_access(self, name: str) -> Iterator[EdgeShard]:
        with self._shard(name, "written to") as shard:
            self._revision = object()
            yield shard

    def _load_shard(self, name: str) -> EdgeShard:
        import qdrant_edge as edge

        with engine_errors(f"The collection {name!r} in {self.folder} cannot be opened"):
            put_back_holes(self._path(name))
        try:
            with engine_errors(""):
                path = str(self._path(name) / "shard")
                shard = edge.EdgeShard.load(path, edge_config(self._spec(name)))
                self._write_noted(name, shard)
        except (StoreError, ValueError, TypeError) as error:
            raise StoreError(why_not_opened(self._path(name), error)) from error
        self._shards[name] = shard
        return shard

    def _write_noted(self, name: str, shard: EdgeShard) -> None:
        """Replay the write-ahead log of a store that was not closed."""
        import qdrant_edge as edge

        if name not in self._ahead and (noted := noted_points(self._path(name))):
            shard.update(edge.UpdateOperation.upsert_points([edge_point(point, edge) for point in noted]))
            self._ahead.add(name)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"The index in {self.folder} was closed: open it again.")

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _spec(self, name: str) -> VectorSpec:
        spec = self._records[name]["spec"]
        return VectorSpec(spec["dense"], spec["multi"], tuple(spec["sparse"]))

    def _record(self, name: str) -> dict[str, Any] | None:
        self._check_open()
        if checked_name(name) in self._records:
            return self._records[name]
        if not self._lock.held and self._is_there():
            self._lock.take()  # created by another program in the meantime
        self._check_own(self._path(name))
        record = load_record(self._path(name))
        return record and self._records.setdefault(name, record)

    def _check_own(self, folder: Path) -> None:
        """Raise StoreError if a collection's folder is a link or not ours, since the engine writes into it."""
        with engine_errors(f"{folder} cannot be checked"):
            check_inside(self.folder, folder)
            is_ours(folder, COLLECTION)
            check_no_links(folder)
