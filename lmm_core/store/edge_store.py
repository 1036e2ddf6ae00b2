"""Collections in a folder: Qdrant Edge, Qdrant's own engine in this process.

`folder/NAME/shard/` is the engine's, `folder/NAME/collection.json` ours; a collection is
there when that file is. The folder and those of the collections are marked (`files.marked`):
no other is opened, written to or removed. The engine logs what it is told before it does it, so what was
written survives the process; what it cannot survive is a full disk (it writes through
memory maps: SIGBUS), so room is looked for before each batch.

What is written lies in one segment that the engine holds in memory. So after every
`SEGMENT` points it is made one that lies in files alone, and the shard is closed, which
lets go of both: memory does not grow with the collection.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import FolderError, StoreError
from ..files.marked import check_inside, check_no_links, is_ours, make_marked, remove_marked
from ..markdown.files import save_markdown
from ..models.embedders.embedder import Sparse
from .folder_lock import FolderLock
from .points import Hit, among, checked_id, checked_name, checked_points, filter_from, in_batches, run_search
from .vector_store import Point, ScoredPoint, Search, Vector, VectorSpec, Where

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard

INDEX, COLLECTION = "index", "collection"  # the kinds of the folders
RECORD = "collection.json"
FORMAT = 1
BATCH = 256  # points in one operation
PAGE = 1000  # points of a scroll that are read at once
SEGMENT = 32_768  # points that are written to one segment; what is not flushed by then is done again when opening
NO_VECTOR = "none"  # the engine wants a vector where a collection is to have none; it stays empty
ALL = 1_000_000  # more values of a key than there are
IN_MEMORY = 4_000  # KB of one vector: a segment that has more is made one that lies in files
REMOVED = 0.2  # of a segment: when so much was removed, it is made anew while points are written
TIDY = 0.02  # the same when all is written: the IDF is wrong by so much at most
SPARE = 64 * 1024 * 1024  # bytes that stay free on the disk


class EdgeStore:
    """A folder of collections; one process has it at a time. One thing is done at a time,
    whatever thread asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FolderLock(folder)
        self._alone = threading.RLock()
        self._shards: dict[str, EdgeShard] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._unsettled: Counter[str] = Counter()  # points that are written and not settled
        self._outdated: set[str] = set()
        self._closed = False
        if self._is_there():
            self._lock.take()

    def _is_there(self) -> bool:
        """Whether the folder is there. Raises StoreError where it is not ours."""
        with _told(f"the index in {self.folder} cannot be opened"):
            return is_ours(self.folder, INDEX)

    # Collections

    def collections(self) -> list[str]:
        """The names of all collections, sorted."""
        with self._alone:
            self._check_open()
            return sorted(path.parent.name for path in self.folder.glob(f"*/{RECORD}"))

    def create(
        self,
        name: str,
        spec: VectorSpec,
        metadata: Mapping[str, Any],
        indexes: Mapping[str, Literal["keyword", "integer"]],
    ) -> None:
        """Make a collection; one of the name must not be there."""
        with self._alone:
            if self._record(name) is not None:
                raise StoreError(f"there is a collection {name!r} in {self.folder} already")
            self._check_case(name)
            self._own_folder()
            self._check_room(0)
            with _told(f"the collection {name!r} cannot be made in {self.folder}"):
                self._make_shard(name, spec, indexes)
                record = {"format": FORMAT, "spec": asdict(spec), "metadata": dict(metadata), "indexes": dict(indexes)}
                save_markdown(self._path(name) / RECORD, json.dumps(record, ensure_ascii=False))

    def _check_case(self, name: str) -> None:
        """Raises StoreError for a name that another has but for case: on many systems they are one folder."""
        for other in self.collections():
            if other != name and other.casefold() == name.casefold():
                raise StoreError(f"there is a collection {other!r}: choose a name that differs by more than case")

    def _own_folder(self) -> None:
        """Make the folder, and make it ours."""
        if self._lock.held:
            return
        with _told(f"the folder {self.folder} cannot be made"):
            make_marked(self.folder, INDEX)
            ignore = self.folder / ".gitignore"
            if not os.path.lexists(ignore):
                ignore.write_text("*\n", encoding="utf-8")
        self._lock.take()

    def _make_shard(self, name: str, spec: VectorSpec, indexes: Mapping[str, Literal["keyword", "integer"]]) -> None:
        import qdrant_edge as edge

        path = self._path(name)
        remove_marked(path, COLLECTION)  # left there by a process that was ended while it made or removed one
        make_marked(path, COLLECTION)
        (path / "shard").mkdir()
        shard = edge.EdgeShard.create(str(path / "shard"), _edge_config(spec, REMOVED))
        kinds = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}
        for key, kind in indexes.items():
            shard.update(edge.UpdateOperation.create_field_index(key, kinds[kind](memory=edge.Memory.Cold)))
        shard.flush()
        self._shards[name] = shard

    def metadata(self, name: str) -> dict[str, Any] | None:
        """What `create` was given; None where there is no such collection."""
        with self._alone:
            record = self._record(name)
            return None if record is None else json.loads(json.dumps(record["metadata"]))

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there. The record goes first: from then on it is
        not there, whatever happens. (`remove_marked` goes by the names' order.)"""
        with self._alone:
            if self._record(name) is None:
                return
            with _told(f"the collection {name!r} cannot be removed from {self.folder}"):
                self._forget(name)
                del self._records[name]
                remove_marked(self._path(name), COLLECTION)

    def _forget(self, name: str) -> None:
        """Close a shard."""
        del self._unsettled[name]
        self._outdated.discard(name)
        self._let_go(name)

    def _let_go(self, name: str) -> None:
        """Close a shard that is opened again when it is wanted."""
        if shard := self._shards.pop(name, None):
            shard.close()

    # Writing

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write points, in place of those with the same ids."""
        import qdrant_edge as edge

        with self._shard(name, "written to") as shard:
            fitting = checked_points(points, self._spec(name))
            for batch in in_batches(fitting, BATCH):
                self._check_room(sum(map(_size, batch)))
                shard.update(edge.UpdateOperation.upsert_points([_edge_point(point, edge) for point in batch]))
                self._unsettled[name] += len(batch)
            self._note_replaced(name, shard)
            self._settle_at_times(name)

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Put whole payloads in place of those of the points with these ids; ids that are
        not there do not matter."""
        import qdrant_edge as edge

        with self._shard(name, "written to") as shard:
            wanted = {checked_id(at): payload for at, payload in payloads.items()}
            for batch in in_batches(list(wanted), BATCH):
                self._check_room(sum(_length(wanted[at]) for at in batch))
                for record in shard.retrieve(list(batch), False, False):
                    payload = dict(wanted[str(record.id)])
                    shard.update(edge.UpdateOperation.overwrite_payload([record.id], payload))
                self._unsettled[name] += len(batch)
            self._note_replaced(name, shard)
            self._settle_at_times(name)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do not matter."""
        import qdrant_edge as edge

        with self._shard(name, "written to") as shard:
            for batch in in_batches([checked_id(at) for at in ids], PAGE):
                self._check_room(0)
                shard.update(edge.UpdateOperation.delete_points(list(batch)))
                self._unsettled[name] += len(batch)
                self._outdated.add(name)
            self._settle_at_times(name)

    def _note_replaced(self, name: str, shard: EdgeShard) -> None:
        """A point that changes moves out of a segment that lies in files: that counts as removed."""
        if shard.info().segments_count > 1:
            self._outdated.add(name)

    def _settle_at_times(self, name: str) -> None:
        if self._unsettled[name] >= SEGMENT:
            self._settle(name, REMOVED)
            self._unsettled[name] = 1  # there is something to tidy up at the end

    def _settle(self, name: str, removed: float) -> None:
        """Make what is written a segment in files alone, where it is much, make anew those
        of which more than such a share was removed, and close the shard."""
        if name in self._shards:
            self._shards[name].flush()
            self._let_go(name)
        if self._has_room_to_copy(name):
            self._loaded(name, removed).optimize()
            self._let_go(name)
        _give_back_memory()

    def _has_room_to_copy(self, name: str) -> bool:
        size = sum(file.stat().st_size for file in self._path(name).rglob("*") if file.is_file())
        return shutil.disk_usage(self.folder).free > SPARE + 2 * size

    def _check_room(self, size: int) -> None:
        """Raise StoreError where the disk is nearly full. A point takes about three times
        its size: stored, logged, and copied when the collection is tidied up."""
        free = shutil.disk_usage(self.folder).free
        if free < SPARE + 3 * size:
            raise StoreError(
                f"only {free / 1e6:,.0f} MB are free on the disk of {self.folder}: make room and run this again; "
                "what is stored so far is kept"
            )

    # Reading

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """All points that fit, in the order of their ids."""
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
        """The points with these ids, in this order; those that are not there are left out."""
        with self._shard(name, "read") as shard:
            return _retrieved(shard, [checked_id(at) for at in ids])

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """The best points, the best first; equal ones in the order of their ids."""
        with self._shard(name, "searched") as shard:
            if name in self._outdated and self._spec(name).sparse:
                shard = self._without_removed(name)
            return run_search(search, self._spec(name), _ShardSearch(shard, search.where))

    def _without_removed(self, name: str) -> EdgeShard:
        """A shard whose IDF counts removed points no longer, but for a few: the engine counts
        them until a segment is made anew."""
        self._settle(name, TIDY)
        self._unsettled[name] = 0
        self._outdated.discard(name)
        return self._loaded(name)

    def count(self, name: str, where: Where | None = None) -> int:
        """How many points fit, exactly."""
        import qdrant_edge as edge

        with self._shard(name, "read") as shard:
            return shard.count(edge.CountRequest(exact=True, filter=filter_from(where, edge)))

    def facet(self, name: str, key: str) -> dict[str, int]:
        """How many points there are for each value of a keyword payload key."""
        import qdrant_edge as edge

        with self._shard(name, "read") as shard:
            found = shard.facet(edge.FacetRequest(key, limit=ALL, exact=True))
            return {str(hit.value): hit.count for hit in sorted(found.hits, key=lambda hit: str(hit.value))}

    # Opening and closing

    def close(self) -> None:
        """Let the folder go. What was written is tidied up first."""
        with self._alone:
            self._closed = True
            try:
                for name in {**self._shards, **self._unsettled}:
                    with _told(f"the collection {name!r} in {self.folder} cannot be closed"):
                        if self._unsettled[name]:
                            self._settle(name, TIDY)
                        self._forget(name)
            finally:
                self._shards.clear()
                self._lock.release()

    @contextmanager
    def _shard(self, name: str, what: str) -> Iterator[EdgeShard]:
        """A collection to work with; what goes wrong in the engine is a StoreError."""
        with self._alone:
            if self._record(name) is None:
                raise StoreError(f"there is no collection {name!r} in {self.folder}")
            with _told(f"the collection {name!r} in {self.folder} cannot be {what}"):
                yield self._shards.get(name) or self._loaded(name)

    def _loaded(self, name: str, removed: float = REMOVED) -> EdgeShard:
        import qdrant_edge as edge

        try:
            with _told(""):
                config = _edge_config(self._spec(name), removed)
                self._shards[name] = edge.EdgeShard.load(str(self._path(name) / "shard"), config)
        except StoreError as error:
            raise StoreError(
                f"the collection {name!r} in {self.folder} is damaged: remove {self._path(name)} and index again "
                f"({_cause(error)})"
            ) from error
        return self._shards[name]

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the index in {self.folder} was closed: open it again")

    def _path(self, name: str) -> Path:
        return self.folder / name

    def _spec(self, name: str) -> VectorSpec:
        spec = self._records[name]["spec"]
        return VectorSpec(spec["dense"], spec["multi"], tuple(spec["sparse"]))

    def _record(self, name: str) -> dict[str, Any] | None:
        """What `create` has written; None where there is no such collection."""
        self._check_open()
        if checked_name(name) in self._records:
            return self._records[name]
        if not self._lock.held and self._is_there():
            self._lock.take()  # another program has made it since
        path = self._path(name) / RECORD
        try:
            self._check_own(path.parent)
            record = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read ({error}): remove {path.parent} and index again") from error
        return self._records.setdefault(name, _checked_record(record, path))

    def _check_own(self, folder: Path) -> None:
        """Raises StoreError for a collection's folder that is not ours, or leads elsewhere: the
        engine writes into it."""
        with _told(f"{folder} cannot be looked into"):
            check_inside(self.folder, folder)
            is_ours(folder, COLLECTION)
            check_no_links(folder)


def _checked_record(record: Any, path: Path) -> dict[str, Any]:
    if isinstance(record, dict) and record.get("format") == FORMAT and {"spec", "metadata"} <= set(record):
        return record
    raise StoreError(f"{path} is of another version of this program: remove {path.parent} and index again")


def _edge_config(spec: VectorSpec, removed: float) -> EdgeConfig:
    """What the engine is told of a collection. removed: of a segment, the share of removed
    points above which it is made anew. Segments in files are read where they lie (cold),
    and there is no graph of dense vectors: looking at all is exact, and fast (100,000 x 384
    takes 14 ms)."""
    import qdrant_edge as edge

    cold, no_graph = edge.Memory.Cold, edge.HnswIndexConfig(0, 100, IN_MEMORY)
    most_similar = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
    dense = {
        name: edge.EdgeVectorParams(
            size, edge.Distance.Cosine, multivector_config=multi, hnsw_config=no_graph, memory=cold
        )
        for sizes, multi in ((spec.dense, None), (spec.multi, most_similar))
        for name, size in sizes.items()
    }
    # Edge wants a vector in every collection: points of one without any have none for this
    sparse = spec.sparse or (() if dense else (NO_VECTOR,))
    return edge.EdgeConfig(
        vectors=dense,
        sparse_vectors={name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=cold) for name in sparse},
        optimizers=edge.EdgeOptimizersConfig(
            deleted_threshold=removed,
            vacuum_min_vector_number=1,
            default_segment_number=1,
            max_segment_size=IN_MEMORY,  # KB, of segments that are put together
            indexing_threshold=IN_MEMORY,
        ),
        id_tracker_memory=cold,
    )


def _edge_vector(vector: Vector, edge: Any) -> Any:
    return edge.SparseVector(vector.indices, vector.values) if isinstance(vector, Sparse) else vector


def _edge_point(point: Point, edge: Any) -> Any:
    vectors = {name: _edge_vector(vector, edge) for name, vector in point.vectors.items()}
    return edge.Point(point.id, vectors, dict(point.payload))


def _retrieved(shard: EdgeShard, ids: Sequence[str]) -> list[ScoredPoint]:
    found = {str(record.id): record.payload or {} for record in shard.retrieve([*ids], True, False)}
    return [ScoredPoint(at, found[at]) for at in ids if at in found]


class _ShardSearch:
    """What a shard does of a search."""

    def __init__(self, shard: EdgeShard, where: Where | None) -> None:
        import qdrant_edge as edge

        self._edge, self._shard = edge, shard
        self._fits = filter_from(where, edge)

    def nearest(self, vectors: Mapping[str, Vector], limit: int) -> list[list[Hit]]:
        """For each vector the best points, in one batch."""
        edge = self._edge
        asked = [
            edge.QueryRequest(
                limit, query=edge.Query.Nearest(_edge_vector(vector, edge), using=using), filter=self._fits
            )
            for using, vector in vectors.items()
        ]
        return [
            [(str(hit.id), hit.score) for hit in hits]
            for hits in self._shard.query_batch(edge.QueryBatchRequest(asked))
        ]

    def fitting(self, ids: Sequence[str], key: str, value: str) -> list[str]:
        """Those of the points that have the value."""
        fits = among(self._edge.HasIdCondition(set(ids)), key, value, self._edge)
        asked = self._edge.ScrollRequest(limit=len(ids), filter=fits, with_payload=False)
        return [str(record.id) for record in self._shard.scroll(asked)[0]]

    def retrieve(self, ids: Sequence[str]) -> list[ScoredPoint]:
        """The points, in this order."""
        return _retrieved(self._shard, ids)


def _size(point: Point) -> int:
    """About how many bytes a point takes."""
    return 4 * sum(map(_numbers, point.vectors.values())) + _length(point.payload)


def _numbers(vector: Vector) -> int:
    if isinstance(vector, Sparse):
        return 2 * len(vector.indices)
    first = vector[0] if vector else 0.0
    return len(vector) * (len(first) if isinstance(first, list) else 1)


def _length(payload: Mapping[str, Any]) -> int:
    """About how many bytes a payload takes."""
    return sum(len(key) + (4 * len(value) if isinstance(value, str) else 200) for key, value in payload.items())


def _give_back_memory() -> None:
    """What the engine's threads have freed goes back to the system; glibc would keep it."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What the engine and the file system report becomes a StoreError."""
    try:
        yield
    except (StoreError, GeneratorExit):
        raise
    except FolderError as error:
        raise StoreError(str(error)) from error
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror or error}") from error
    except BaseException as error:
        # The engine has no exceptions of its own: it raises Exception itself, and what
        # panics in it is a PanicException, which is no Exception and cannot be imported.
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StoreError(f"{what}: {error}") from error


def _cause(error: StoreError) -> str:
    """What the engine said, without what it says of itself, and not at length."""
    return str(error).removeprefix(": ").replace("Service runtime error: ", "")[:300]
