"""Translate collections, points, searches and errors between us and Qdrant Edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import FolderError, StoreError
from ..models.embedders.embedder import Sparse
from .ranking import Hit
from .vector_store import Point, ScoredPoint, Vector, VectorSpec, Where, filter_from, vector_for

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard

NO_VECTOR = "none"  # name of a vector that stays empty, since the engine requires one
IN_MEMORY = 12_000  # KB of a vector in one segment; larger segments are rebuilt as files
# The same for collections with sparse vectors alone: the payload is twice their size, and doubled during a rebuild
OF_WORDS = 5_000
ALL = 1_000_000  # more values than any key has
REMOVED = 0.2  # share of removed points that triggers a rebuild


def edge_config(spec: VectorSpec) -> EdgeConfig:
    """Return the engine's configuration of a collection.

    Segments are read from files (cold). Dense vectors get no graph: exact comparison is fast (14 ms for 100,000 x
    384)."""
    import qdrant_edge as edge

    most = IN_MEMORY if spec.dense or spec.multi else min(IN_MEMORY, OF_WORDS)
    cold, no_graph = edge.Memory.Cold, edge.HnswIndexConfig(0, 100, most)
    most_similar = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
    dense = {
        name: edge.EdgeVectorParams(
            size, edge.Distance.Cosine, multivector_config=multi, hnsw_config=no_graph, memory=cold
        )
        for sizes, multi in ((spec.dense, None), (spec.multi, most_similar))
        for name, size in sizes.items()
    }
    # The engine requires a vector in every collection; points leave this one out
    sparse = spec.sparse or (() if dense else (NO_VECTOR,))
    return edge.EdgeConfig(
        vectors=dense,
        sparse_vectors={name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=cold) for name in sparse},
        optimizers=edge.EdgeOptimizersConfig(
            deleted_threshold=REMOVED,
            vacuum_min_vector_number=1,
            default_segment_number=1,
            max_segment_size=most,  # KB; up to this size segments are merged
            indexing_threshold=most,
        ),
        id_tracker_memory=cold,
    )


def edge_point(point: Point, edge: Any) -> Any:
    vectors = {name: vector_for(vector, edge) for name, vector in point.vectors.items()}
    return edge.Point(point.id, vectors, dict(point.payload))


def retrieve_points(shard: EdgeShard, ids: Sequence[str]) -> list[ScoredPoint]:
    """Return points in the order of ids; unknown ones are ignored."""
    payloads = {
        str(record.id): record.payload or {} for record in shard.retrieve([*ids], with_payload=True, with_vector=False)
    }
    return [ScoredPoint(at, payloads[at]) for at in ids if at in payloads]


def index_payload(shard: EdgeShard, indexes: Mapping[str, Literal["keyword", "integer"]]) -> None:
    """Create the missing payload indexes."""
    import qdrant_edge as edge

    kinds = {"keyword": edge.KeywordIndexParams, "integer": edge.IntegerIndexParams}
    existing = shard.info().payload_schema
    for key, kind in indexes.items():
        if key not in existing:
            shard.update(edge.UpdateOperation.create_field_index(key, kinds[kind](memory=edge.Memory.Cold)))


def count_indexed(shard: EdgeShard, key: str) -> dict[str, int] | None:
    """Count points by value of a payload key. Return None if it is not indexed."""
    import qdrant_edge as edge

    if key not in shard.info().payload_schema:
        return None
    facet = shard.facet(edge.FacetRequest(key, limit=ALL, exact=True))
    return {str(hit.value): hit.count for hit in sorted(facet.hits, key=lambda hit: str(hit.value))}


def search_shard(shard: EdgeShard, where: Where | None, vectors: Mapping[str, Vector], limit: int) -> list[list[Hit]]:
    """Return the best matching points for each vector, in one request."""
    import qdrant_edge as edge

    fits = filter_from(where, edge)
    # An empty filter, which all points match: without one, the IDF would count removed points too
    weighed = edge.SearchParams(idf=edge.IdfParams(edge.Filter()))
    requests = [
        edge.QueryRequest(
            limit, query=edge.Query.Nearest(vector_for(vector, edge), using=using), filter=fits,
            params=weighed if isinstance(vector, Sparse) else None,
        )
        for using, vector in vectors.items()
    ]  # fmt: skip
    return [[(str(hit.id), hit.score) for hit in hits] for hits in shard.query_batch(edge.QueryBatchRequest(requests))]


def point_size(point: Point) -> int:
    """Estimate a point's size in bytes."""
    return 4 * sum(map(_numbers, point.vectors.values())) + payload_size(point.payload)


def _numbers(vector: Vector) -> int:
    if isinstance(vector, Sparse):
        return 2 * len(vector.indices)
    first = vector[0] if vector else 0.0
    return len(vector) * (len(first) if isinstance(first, list) else 1)


def payload_size(payload: Mapping[str, Any]) -> int:
    """Estimate a payload's size in bytes."""
    return sum(len(key) + (4 * len(value) if isinstance(value, str) else 200) for key, value in payload.items())


def texts_in(value: Any) -> list[str]:
    """Return the distinct texts in a payload value, sorted."""
    values = value if isinstance(value, list) else [value]
    return sorted({text for text in values if isinstance(text, str)})


@contextmanager
def engine_errors(failure: str, remedy: str = "") -> Iterator[None]:
    """Turn errors of the engine and the file system into a StoreError.

    failure: beginning of the message; remedy: advice after an error of the engine"""
    try:
        yield
    except FolderError as error:
        raise StoreError(str(error)) from error
    except OSError as error:
        raise StoreError(f"{failure}: {error.strerror or error}") from error
    except BaseException as error:
        # The engine raises bare Exception, and for panics PanicException, which is no subclass and cannot be imported
        if type(error) is not Exception and type(error).__name__ != "PanicException":
            raise
        raise StoreError(f"{failure}: {cause_of(error)}" + (f"; {remedy}" if remedy else "")) from error


def why_not_opened(folder: Path, error: Exception) -> str:
    """Return a message that says why the engine cannot open a collection."""
    if "No space left on device" in str(error):  # opening writes; the engine's message is only this
        return f"The disk of {folder.parent} is full. Make room and run this again."
    return (
        f"The collection {folder.name!r} in {folder.parent} is damaged ({cause_of(error)}). "
        f"Remove {folder} and index again."
    )


def cause_of(error: BaseException) -> str:
    """Return the first 300 characters of the engine's own message."""
    return str(error).removeprefix(": ").replace("Service runtime error: ", "")[:300]
