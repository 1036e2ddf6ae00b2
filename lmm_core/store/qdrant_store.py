"""Collections in memory and on Qdrant servers, by `qdrant-client`.

A key is in the client alone: messages are made here, and what a server answers is looked
through for it.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import NAMESPACE_URL, uuid5

from ..errors import StoreError
from ..models.embedders.embedder import Sparse
from ..models.sources import is_loopback
from .places import KEY_VARIABLE, RemoteSource
from .points import Hit, among, checked_id, checked_name, checked_points, filter_from, in_batches, run_search
from .vector_store import Point, ScoredPoint, Search, Vector, VectorSpec, Where

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

BATCH = 256  # points in one request
PAGE = 1000  # points of a scroll in one request
WAITS = (0.2, 0.4)  # seconds before the second and the third attempt
LONGEST = 5.0  # seconds that a server can ask us to wait
ALL = 100_000  # more values of a key than there are
REGISTRY = "lmm-collections"  # holds metadata on servers that keep none with a collection (before 1.16)

Result = TypeVar("Result")


def memory_store() -> QdrantStore:
    """Collections that live as long as the store."""
    from qdrant_client import QdrantClient

    return QdrantStore(QdrantClient(":memory:"))


def remote_store(source: RemoteSource) -> QdrantStore:
    """Collections on a server. It is not asked anything yet."""
    from qdrant_client import QdrantClient

    key = source.key()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a key goes without https: RemoteSource.key knows where it may
        client = QdrantClient(
            url=source.address,
            grpc_port=source.grpc_port,
            prefer_grpc=source.prefer_grpc,
            api_key=key or None,
            timeout=max(1, round(source.timeout)),
            trust_env=not is_loopback(source.url),  # a proxy has no part in what stays on this machine
            check_compatibility=False,  # it asks the server at once, and warns on standard error
        )
    return QdrantStore(client, source)


class QdrantStore:
    """A client's collections; source: where they are, None for memory."""

    def __init__(self, client: QdrantClient, source: RemoteSource | None = None) -> None:
        self._client = client
        self._source = source
        self._specs: dict[str, VectorSpec] = {}
        self._key = source.key() if source else ""  # to know it where a server repeats it
        self._closed = False

    @property
    def _place(self) -> str:
        return f"on {self._source.address}" if self._source else "in memory"

    # Collections

    def collections(self) -> list[str]:
        """The names of all collections, sorted."""
        found = self._ask(self._client.get_collections).collections
        return sorted(each.name for each in found if each.name != REGISTRY)

    def create(
        self,
        name: str,
        spec: VectorSpec,
        metadata: Mapping[str, Any],
        indexes: Mapping[str, Literal["keyword", "integer"]],
    ) -> None:
        """Make a collection; one of the name must not be there."""
        from qdrant_client import models

        if self._is_there(name):
            raise StoreError(f"there is a collection {name!r} {self._place} already")
        kept = json.loads(json.dumps(dict(metadata)))
        vectors: dict[str, Any] = {**self._vectors(spec), **self._options()}
        self._ask(lambda: self._client.create_collection(name, metadata=kept, **vectors), again=False)
        for key, kind in indexes.items() if self._source else ():
            self._ask(partial(self._client.create_payload_index, name, key, models.PayloadSchemaType(kind), wait=True))
        if kept and not self._ask(lambda: self._client.get_collection(name)).config.metadata:
            self._register(name, kept)

    def _vectors(self, spec: VectorSpec) -> dict[str, Any]:
        from qdrant_client import models

        on_disk = True if self._source and self._source.on_disk else None
        most_similar = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        cosine: dict[str, Any] = {"distance": models.Distance.COSINE, "on_disk": on_disk}
        dense = {name: models.VectorParams(size=size, **cosine) for name, size in spec.dense.items()}
        multi = {
            name: models.VectorParams(size=size, multivector_config=most_similar, **cosine)
            for name, size in spec.multi.items()
        }
        idf = models.SparseVectorParams(modifier=models.Modifier.IDF)
        return {"vectors_config": dense | multi, "sparse_vectors_config": dict.fromkeys(spec.sparse, idf) or None}

    def _options(self) -> dict[str, Any]:
        """How a server keeps a new collection."""
        from qdrant_client import models

        if (source := self._source) is None:
            return {}
        scalar = models.ScalarQuantization(scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8))
        binary = models.BinaryQuantization(binary=models.BinaryQuantizationConfig())
        named = {False: None, True: scalar, "scalar": scalar, "binary": binary}
        return {
            "shard_number": source.shard_number,
            "replication_factor": source.replication_factor,
            "on_disk_payload": True if source.on_disk else None,
            "quantization_config": named[source.quantization],
        }

    def _register(self, name: str, metadata: dict[str, Any]) -> None:
        """Remember metadata on a server that dropped what it was given."""
        from qdrant_client import models

        if not self._ask(lambda: self._client.collection_exists(REGISTRY)):
            self._ask(lambda: self._client.create_collection(REGISTRY, vectors_config={}), again=False)
        point = models.PointStruct(id=_entry(name), vector={}, payload={"collection": name, "metadata": metadata})
        self._ask(lambda: self._client.upsert(REGISTRY, [point], wait=True))

    def metadata(self, name: str) -> dict[str, Any] | None:
        """What `create` was given; None where there is no such collection."""
        if not self._is_there(name):
            return None
        if kept := self._ask(lambda: self._client.get_collection(name)).config.metadata:
            return json.loads(json.dumps(kept))  # type: ignore[no-any-return]
        if self._source is None or not self._ask(lambda: self._client.collection_exists(REGISTRY)):
            return {}
        found = self._ask(lambda: self._client.retrieve(REGISTRY, [_entry(name)], with_payload=True))
        return dict((found[0].payload or {}).get("metadata", {})) if found else {}

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        if not self._is_there(name):
            return
        self._specs.pop(name, None)
        self._ask(lambda: self._client.delete_collection(name))
        if self._source and self._ask(lambda: self._client.collection_exists(REGISTRY)):
            self._ask(lambda: self._client.delete(REGISTRY, points_selector=[_entry(name)], wait=True))

    def _is_there(self, name: str) -> bool:
        if checked_name(name) == REGISTRY:
            raise StoreError(f"{REGISTRY!r} is the name of a collection that LM markdown keeps for itself")
        return self._ask(lambda: self._client.collection_exists(name))

    # Writing

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """Write points, in place of those with the same ids. Where a request fails, those
        of the requests before are written."""
        for batch in in_batches(checked_points(points, self._spec(name)), BATCH):
            written = [_written_point(point) for point in batch]
            self._ask(partial(self._client.upsert, name, written, wait=True))

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """Put whole payloads in place of those of the points with these ids; ids that are
        not there do not matter (a server would refuse the request)."""
        from qdrant_client import models

        self._spec(name)
        wanted = {checked_id(at): dict(payload) for at, payload in payloads.items()}
        for batch in in_batches(list(wanted), BATCH):
            there = self._ask(partial(self._client.retrieve, name, list(batch), with_payload=False))
            changes = [
                models.OverwritePayloadOperation(
                    overwrite_payload=models.SetPayload(payload=wanted[str(record.id)], points=[record.id])
                )
                for record in there
            ]
            if changes:
                self._ask(partial(self._client.batch_update_points, name, changes, wait=True))

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do not matter."""
        self._spec(name)
        for batch in in_batches([checked_id(at) for at in ids], PAGE):
            self._ask(partial(self._client.delete, name, points_selector=list(batch), wait=True))

    # Reading

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        """All points that fit, in the order of their ids."""
        from qdrant_client import models

        self._spec(name)
        asked: dict[str, Any] = {"scroll_filter": filter_from(where, models), "limit": PAGE}
        asked["with_payload"] = True if keys is None else list(keys)
        while True:
            records, after = self._ask(lambda: self._client.scroll(name, with_vectors=False, **asked))
            yield from (ScoredPoint(str(record.id), dict(record.payload or {})) for record in records)
            if after is None:
                return
            asked["offset"] = after

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        """The points with these ids, in this order; those that are not there are left out."""
        self._spec(name)
        wanted = [checked_id(at) for at in ids]
        found: dict[str, dict[str, Any]] = {}
        for batch in in_batches(wanted, PAGE):
            records = self._ask(partial(self._client.retrieve, name, list(batch), with_payload=True))
            found |= {str(record.id): record.payload or {} for record in records}
        return [ScoredPoint(at, dict(found[at])) for at in wanted if at in found]

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        """The best points, the best first; equal ones in the order of their ids."""
        return run_search(search, self._spec(name), _CollectionSearch(self, name, search.where))

    def nearest(self, name: str, vectors: Mapping[str, Vector], limit: int, fits: Any) -> list[list[Hit]]:
        """For each vector the best points, in one request."""
        from qdrant_client import models

        asked = [
            models.QueryRequest(query=_written_vector(vector), using=using, limit=limit, filter=fits)
            for using, vector in vectors.items()
        ]
        found = self._ask(lambda: self._client.query_batch_points(name, asked))
        return [[(str(hit.id), hit.score) for hit in each.points] for each in found]

    def fitting(self, name: str, fits: Any, limit: int) -> list[str]:
        """The ids of the points that fit, so many at most."""
        asked: dict[str, Any] = {"scroll_filter": fits, "limit": limit, "with_payload": False}
        records, _ = self._ask(lambda: self._client.scroll(name, **asked))
        return [str(record.id) for record in records]

    def count(self, name: str, where: Where | None = None) -> int:
        """How many points fit, exactly."""
        from qdrant_client import models

        self._spec(name)
        fits = filter_from(where, models)
        return self._ask(lambda: self._client.count(name, count_filter=fits, exact=True)).count

    def facet(self, name: str, key: str) -> dict[str, int]:
        """How many points there are for each value of a keyword payload key."""
        self._spec(name)
        hits = self._ask(lambda: self._client.facet(name, key=key, limit=ALL, exact=True)).hits
        return {str(hit.value): hit.count for hit in sorted(hits, key=lambda hit: str(hit.value))}

    def close(self) -> None:
        """Let connections go; collections in memory are gone."""
        if not self._closed:
            self._closed = True
            self._client.close()

    def _spec(self, name: str) -> VectorSpec:
        """A collection's vectors. Raises StoreError where there is no such collection."""
        if self._closed or name not in self._specs:
            if not self._is_there(name):
                raise StoreError(f"there is no collection {name!r} {self._place}")
            info = self._ask(lambda: self._client.get_collection(name))
            self._specs[name] = _spec_of(info.config.params.vectors, info.config.params.sparse_vectors)
        return self._specs[name]

    # Requests

    def _ask(self, request: Callable[[], Result], again: bool = True) -> Result:
        """What a request brings; those that can be sent again are, where the server or the
        network is at fault for the moment."""
        if self._closed:
            raise StoreError(f"the index {self._place} was closed: open it again")
        for wait in (*(WAITS if again else ()), None):
            try:
                return request()
            except _failures() as error:
                if wait is None or not _may_pass(error):
                    raise self._told(error) from None  # the chain may hold what a server repeats: our key
                time.sleep(max(wait, min(float(getattr(error, "retry_after_s", 0)), LONGEST)))
        raise AssertionError("the last attempt returns or raises")

    def _told(self, error: Exception) -> StoreError:
        """What happened, in a sentence without the key."""
        if self._source is None:
            return StoreError(f"Qdrant refuses this: {error}")
        text = _sentence(error, self._source, bool(self._key))
        return StoreError(text.replace(self._key, f"(the key in {KEY_VARIABLE})") if self._key else text)


class _CollectionSearch:
    """What a collection does of a search."""

    def __init__(self, store: QdrantStore, name: str, where: Where | None) -> None:
        from qdrant_client import models

        self._models, self._store, self._name = models, store, name
        self._fits = filter_from(where, models)

    def nearest(self, vectors: Mapping[str, Vector], limit: int) -> list[list[Hit]]:
        """For each vector the best points."""
        return self._store.nearest(self._name, vectors, limit, self._fits)

    def fitting(self, ids: Sequence[str], key: str, value: str) -> list[str]:
        """Those of the points that have the value."""
        points = self._models.HasIdCondition(has_id=list(ids))
        return self._store.fitting(self._name, among(points, key, value, self._models), len(ids))

    def retrieve(self, ids: Sequence[str]) -> list[ScoredPoint]:
        """The points, in this order."""
        return self._store.retrieve(self._name, ids)


def _entry(name: str) -> str:
    """The id of a collection's point in the registry."""
    return str(uuid5(NAMESPACE_URL, name))


def _written_vector(vector: Vector) -> Any:
    from qdrant_client import models

    return models.SparseVector(indices=vector.indices, values=vector.values) if isinstance(vector, Sparse) else vector


def _written_point(point: Point) -> Any:
    from qdrant_client import models

    vectors = {name: _written_vector(vector) for name, vector in point.vectors.items()}
    return models.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload))


def _spec_of(vectors: Any, sparse: Any) -> VectorSpec:
    """The vectors of a collection as its server describes them."""
    named = vectors if isinstance(vectors, dict) else {"": vectors} if vectors else {}
    dense = {name: params.size for name, params in named.items() if not params.multivector_config}
    multi = {name: params.size for name, params in named.items() if params.multivector_config}
    return VectorSpec(dense, multi, tuple(sparse or ()))


# What goes wrong


def _failures() -> tuple[type[Exception], ...]:
    """What the client raises: of a server, of gRPC, and (ValueError) of its local mode."""
    import grpc  # type: ignore[import-untyped]
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException

    return (ApiException, QdrantException, grpc.RpcError, ValueError)


def _status(error: Exception) -> int:
    """The HTTP status of an answer, 0 where there was none; of gRPC's, what is the same."""
    if code := getattr(error, "code", None):
        grpc = {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "INVALID_ARGUMENT": 400}
        return {**grpc, "RESOURCE_EXHAUSTED": 429, "INTERNAL": 500}.get(code().name, 0)
    if hasattr(error, "retry_after_s"):
        return 429
    return int(getattr(error, "status_code", 0) or 0)


def _kind(error: Exception) -> str:
    """What happened to a request that was not answered: time-out, unreachable, broken or other."""
    import httpx

    source = getattr(error, "source", error)
    code = error.code().name if hasattr(error, "code") else ""
    if isinstance(source, httpx.TimeoutException) or code == "DEADLINE_EXCEEDED":
        return "time-out"
    if isinstance(source, httpx.ConnectError) or code == "UNAVAILABLE":
        return "unreachable"
    return "broken" if isinstance(source, httpx.TransportError) else "other"


def _may_pass(error: Exception) -> bool:
    """Whether the same request may do better in a moment. A server that is not there will
    not: a wrong address is said at once."""
    status = _status(error)
    return status == 429 or status >= 500 or (not status and _kind(error) in ("time-out", "broken"))


def _sentence(error: Exception, source: RemoteSource, has_key: bool) -> str:
    """What to tell the user."""
    at, status = f"the Qdrant server at {source.address}", _status(error)
    if status in (401, 403):
        have = f"refuses the key in {KEY_VARIABLE}" if has_key else f"wants a key: set {KEY_VARIABLE}"
        return f"{at} {have} ({status})"
    if status == 429:
        return f"{at} has too much to do (429): try again later"
    if 300 <= status < 400:
        return f"{at} leads on to another address ({status}), where nothing is sent: if that is the right one, give it"
    if status >= 500:
        return f"{at} has failed ({status}): {_answer(error)}"
    if status:
        return f"{at} refuses this ({status}): {_answer(error)}"
    reason = str(getattr(error, "source", error)).strip()
    return {
        "time-out": f"{at} has not answered within {source.timeout:g} s",
        "unreachable": f"no Qdrant server answers at {source.address} ({reason}): is it running, is the address right?",
        "broken": f"the connection to {at} broke ({reason or 'no reason given'}): try again",
        "other": f"{at} has answered what cannot be understood: is it a Qdrant server? ({reason[:200]})",
    }[_kind(error)]


def _answer(error: Exception) -> str:
    """What a server says of an error."""
    content = getattr(error, "content", None)
    if content is None:
        details = getattr(error, "details", None)
        return str(details() if details else error)
    try:
        told = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        told = content.decode(errors="replace")[:200].strip()
    return str(told) or "it does not say why"
