"""Store collections in memory and on Qdrant servers, with `qdrant-client`.

The key is given only to the client, and removed from the server's messages.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import StoreError
from ..models.addresses import is_loopback, usable_environment
from .points import checked_id, checked_name, checked_points, in_batches
from .ranking import Hit, run_search
from .vector_store import (
    KEY_VARIABLE,
    PayloadIndexes,
    Point,
    ScoredPoint,
    Search,
    Vector,
    VectorSpec,
    VectorStore,
    Where,
    filter_from,
    vector_for,
)

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from .places import RemoteSource

BATCH = 256  # points in one request
PAGE = 1000  # points read in one request
# Number and share of deleted vectors from which the server rebuilds a segment: until then, they distort the IDF
VACUUM, REMOVED = 100, 0.1
WAITS = (0.2, 0.4)  # seconds before the second and the third attempt
LONGEST_WAIT = 5.0  # seconds, even if the server asks for a longer wait
ALL = 100_000  # more values than any key has
LONGEST_MESSAGE = 300  # characters of a server's message, in which nodes of a cluster quote each other

Result = TypeVar("Result")


def remote_store(source: RemoteSource) -> ServerStore:
    """Return a store on a server, without contacting it yet. Raise StoreError if nothing may be sent there."""
    from qdrant_client import QdrantClient

    key = source.key()
    with warnings.catch_warnings(), usable_environment(StoreError):
        warnings.simplefilter("ignore")  # about a key without https: RemoteSource.key has allowed it
        client = QdrantClient(
            url=source.address,
            api_key=key or None,
            timeout=max(1, round(source.timeout)),
            **_own_options(source.url),
            check_compatibility=False,  # would contact the server now, and print its warning
        )
    return ServerStore(client, source, key)


def _own_options(url: str) -> dict[str, Any]:
    """Return options of the HTTP client: no proxy for a server on this machine."""
    if not is_loopback(url):
        return {}
    import ssl  # its contexts respect SSL_CERT_FILE

    is_plain = url.lower().startswith("http:")  # needs no certificates, which take 50 ms to read
    return {"trust_env": False, "verify": not is_plain and ssl.create_default_context()}


class QdrantStore(VectorStore):
    """The collections of a client.

    source: its server, or None for collections in memory or in a folder; key: removed from messages
    place: names a store without server in messages"""

    def __init__(
        self, client: QdrantClient, source: RemoteSource | None = None, key: str = "", place: str = "in memory"
    ) -> None:
        self._client = client
        self._source = source
        self._specs: dict[str, VectorSpec] = {}
        self._key = key
        self._place = f"on {source.address}" if source else place
        self._closed = False

    # Collections

    def collections(self) -> list[str]:
        return sorted(collection.name for collection in self._ask(self._client.get_collections).collections)

    def create(self, name: str, spec: VectorSpec, metadata: Mapping[str, Any], indexes: PayloadIndexes) -> None:
        from qdrant_client import models

        checked_name(name)
        plain_metadata = json.loads(json.dumps(dict(metadata)))
        vectors: dict[str, Any] = self._vectors(spec)
        self._ask(lambda: self._client.create_collection(name, metadata=plain_metadata, **vectors), again=False)
        for key, kind in indexes.items() if self._source else ():
            self._ask(partial(self._client.create_payload_index, name, key, models.PayloadSchemaType(kind), wait=True))
        if plain_metadata and not self._ask(lambda: self._client.get_collection(name)).config.metadata:
            self._ask(lambda: self._client.delete_collection(name))
            raise StoreError(
                f"The Qdrant server {self._place} does not store metadata of collections: 1.16 or later is needed."
            )

    def _vectors(self, spec: VectorSpec) -> dict[str, Any]:
        from qdrant_client import models

        most_similar = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        cosine: dict[str, Any] = {"distance": models.Distance.COSINE}
        dense = {name: models.VectorParams(size=size, **cosine) for name, size in spec.dense.items()}
        multi = {
            name: models.VectorParams(size=size, multivector_config=most_similar, **cosine)
            for name, size in spec.multi.items()
        }
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        return {
            "vectors_config": dense | multi,
            "sparse_vectors_config": dict.fromkeys(spec.sparse, words) or None,
            "optimizers_config": models.OptimizersConfigDiff(
                vacuum_min_vector_number=VACUUM, deleted_threshold=REMOVED
            ),
        }

    def metadata(self, name: str) -> dict[str, Any] | None:
        if not self._is_there(name):
            self._specs.pop(name, None)
            return None
        config = self._ask(lambda: self._client.get_collection(name)).config
        self._specs[name] = _spec_of(config.params.vectors, config.params.sparse_vectors)  # the name may be an alias
        return json.loads(json.dumps(config.metadata or {}))  # type: ignore[no-any-return]

    def drop(self, name: str) -> None:
        if not self._is_there(name):
            return
        self._specs.pop(name, None)
        collection = self._resolve_alias(name)
        self._ask(lambda: self._client.delete_collection(collection))

    def _resolve_alias(self, name: str) -> str:
        return name

    def _is_there(self, name: str) -> bool:
        return self._ask(lambda: self._client.collection_exists(checked_name(name)))

    # Writing

    def upsert(self, name: str, points: Sequence[Point]) -> None:
        """See `VectorStore`. If a request fails, the points of earlier ones stay written."""
        from qdrant_client import models

        for batch in in_batches(checked_points(points, self._spec(name)), BATCH):
            structs = []
            for point in batch:
                vectors = {using: vector_for(vector, models) for using, vector in point.vectors.items()}
                structs.append(models.PointStruct(id=point.id, vector=vectors, payload=dict(point.payload)))
            self._ask(partial(self._client.upsert, name, structs, wait=True))

    def set_payload(self, name: str, payloads: Mapping[str, Mapping[str, Any]]) -> None:
        """See `VectorStore`. Unknown ids are not sent, since a server would refuse the request."""
        from qdrant_client import models

        self._spec(name)
        by_id = {checked_id(at): dict(payload) for at, payload in payloads.items()}
        for batch in in_batches(list(by_id), BATCH):
            existing = self._ask(partial(self._client.retrieve, name, list(batch), with_payload=False))
            changes = [
                models.OverwritePayloadOperation(
                    overwrite_payload=models.SetPayload(payload=by_id[str(record.id)], points=[record.id])
                )
                for record in existing
            ]
            if changes:
                self._ask(partial(self._client.batch_update_points, name, changes, wait=True))

    def delete(self, name: str, ids: Sequence[str]) -> None:
        self._spec(name)
        for batch in in_batches([checked_id(at) for at in ids], PAGE):
            self._ask(partial(self._client.delete, name, points_selector=list(batch), wait=True))

    # Reading

    def scroll(self, name: str, where: Where | None = None, keys: Sequence[str] | None = None) -> Iterator[ScoredPoint]:
        from qdrant_client import models

        self._spec(name)
        options: dict[str, Any] = {"scroll_filter": filter_from(where, models), "limit": PAGE}
        options["with_payload"] = True if keys is None else list(keys)
        while True:
            records, after = self._ask(lambda: self._client.scroll(name, with_vectors=False, **options))
            yield from (ScoredPoint(str(record.id), dict(record.payload or {})) for record in records)
            if after is None:
                return
            options["offset"] = after

    def retrieve(self, name: str, ids: Sequence[str]) -> list[ScoredPoint]:
        self._spec(name)
        checked_ids = [checked_id(at) for at in ids]
        payloads: dict[str, dict[str, Any]] = {}
        for batch in in_batches(checked_ids, PAGE):
            records = self._ask(partial(self._client.retrieve, name, list(batch), with_payload=True))
            payloads |= {str(record.id): record.payload or {} for record in records}
        return [ScoredPoint(at, dict(payloads[at])) for at in checked_ids if at in payloads]

    def search(self, name: str, search: Search) -> list[ScoredPoint]:
        nearest = partial(self._nearest, name, search.where)
        return run_search(search, self._spec(name), nearest, partial(self.retrieve, name))

    def _nearest(
        self, name: str, where: Where | None, vectors: Mapping[str, Vector], limit: int
    ) -> list[list[Hit]]:  # fmt: skip
        from qdrant_client import models

        fits = filter_from(where, models)
        requests = [
            models.QueryRequest(query=vector_for(vector, models), using=using, limit=limit, filter=fits)
            for using, vector in vectors.items()
        ]
        responses = self._ask(lambda: self._client.query_batch_points(name, requests))
        return [[(str(hit.id), hit.score) for hit in response.points] for response in responses]

    def count(self, name: str) -> int:
        self._spec(name)
        return self._ask(lambda: self._client.count(name, exact=True)).count

    def facet(self, name: str, key: str) -> dict[str, int]:
        self._spec(name)
        hits = self._ask(lambda: self._client.facet(name, key=key, limit=ALL, exact=True)).hits
        return {str(hit.value): hit.count for hit in sorted(hits, key=lambda hit: str(hit.value))}

    def close(self) -> None:
        """Close all connections; collections in memory are lost."""
        if not self._closed:
            self._closed = True
            self._client.close()

    def _spec(self, name: str) -> VectorSpec:
        """Return a collection's vectors. Raise StoreError if it does not exist."""
        if (self._closed or name not in self._specs) and self.metadata(name) is None:
            raise StoreError(f"There is no collection {name!r} {self._place}.")
        return self._specs[name]

    # Requests

    def _ask(self, request: Callable[[], Result], again: bool = True) -> Result:
        """Return a request's result. again: retry after a failure that may pass. Raise StoreError."""
        if self._closed:
            raise StoreError(f"The index {self._place} was closed: open it again.")
        waits = [*WAITS] if again else []
        while True:
            try:
                return request()
            except _client_errors() as error:
                if not waits or not _may_pass(error):
                    raise self._error_for_user(error) from None  # not chained: a server may have repeated our key
                time.sleep(max(waits.pop(0), min(float(getattr(error, "retry_after_s", 0)), LONGEST_WAIT)))

    def _error_for_user(self, error: Exception) -> StoreError:
        """Return a StoreError that says what happened, without the key."""
        if self._source is None:
            return StoreError(f"Qdrant refuses this: {error}")
        if status := _status(error):
            text = f"The Qdrant server at {self._source.address} {_describe_status(error, status, bool(self._key))}"
        else:
            text = _describe_connection(error, self._source)
        return StoreError(text.replace(self._key, f"(the key in {KEY_VARIABLE})") if self._key else text)


class ServerStore(QdrantStore):
    """The collections of a server, which can have aliases."""

    def aliases(self) -> dict[str, str]:
        """Return the names of collections by their aliases."""
        return {alias.alias_name: alias.collection_name for alias in self._ask(self._client.get_aliases).aliases}

    def switch(self, names: Mapping[str, str]) -> None:
        """Point aliases to collections, all at once. names: collections by alias."""
        from qdrant_client import models

        operations = [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=collection, alias_name=checked_name(name))
            )
            for name, collection in names.items()
        ]
        self._ask(lambda: self._client.update_collection_aliases(operations))
        for name in names:
            self._specs.pop(name, None)

    def _resolve_alias(self, name: str) -> str:
        return self.aliases().get(name, name)


def _spec_of(vectors: Any, sparse: Any) -> VectorSpec:
    by_name = vectors if isinstance(vectors, dict) else {"": vectors} if vectors else {}
    dense = {name: params.size for name, params in by_name.items() if not params.multivector_config}
    multi = {name: params.size for name, params in by_name.items() if params.multivector_config}
    return VectorSpec(dense, multi, tuple(sparse or ()))


# Errors


def _client_errors() -> tuple[type[Exception], ...]:
    """Return the client's errors. Its local mode raises ValueError, and a closed client RuntimeError."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ApiException

    return (ApiException, QdrantException, ValueError, RuntimeError)


def _status(error: Exception) -> int:
    if hasattr(error, "retry_after_s"):
        return 429
    return int(getattr(error, "status_code", 0) or 0)


def _may_pass(error: Exception) -> bool:
    """Return True if a retry may succeed. After a refused connection, the address is probably wrong."""
    import httpx

    status, cause = _status(error), getattr(error, "source", error)
    is_broken = isinstance(cause, httpx.TransportError) and not isinstance(cause, httpx.ConnectError)
    return status in (408, 429) or status >= 500 or (not status and is_broken)


def _describe_status(error: Exception, status: int, has_key: bool) -> str:
    if status == 401:
        have = f"refuses the key in {KEY_VARIABLE}" if has_key else f"requires a key: set {KEY_VARIABLE}"
        return f"{have} ({status})"
    if status == 403:
        key = f" to the key in {KEY_VARIABLE}, which may only read or only use some collections" if has_key else ""
        return f"forbids this{key} ({status})"
    if status == 408:
        return "did not finish this in time (408): does one of its nodes hang?"
    if status == 429:
        return "is overloaded (429): try again later"
    if 300 <= status < 400:
        redirects = f"redirects to another address ({status}), and nothing is sent there"
        return f"{redirects}: if that is the right address, use it instead"
    return f"{'has failed' if status >= 500 else 'refuses this'} ({status}): {_answer(error)}"


def _describe_connection(error: Exception, source: RemoteSource) -> str:
    import httpx

    cause, address = getattr(error, "source", error), source.address
    reason = str(cause).strip()
    if isinstance(cause, httpx.TimeoutException):
        return f"The Qdrant server at {address} did not answer within {source.timeout:g} s"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return f"The certificate of {address} is not trusted: name that of its authority in SSL_CERT_FILE ({reason})"
    if isinstance(cause, httpx.ConnectError):
        return f"No Qdrant server answers at {address} ({reason}). Is it running? Is the address right?"
    if isinstance(cause, httpx.TransportError):
        return f"The connection to {address} broke ({reason or 'the server gives no reason'}): try again"
    unclear = f"The Qdrant server at {address} sent a reply that cannot be understood"
    return f"{unclear}. Is it a Qdrant server? ({reason[:200]})"


def _answer(error: Exception) -> str:
    content = getattr(error, "content", None)
    if content is None:
        return str(error)
    try:
        message = json.loads(content)["status"]["error"]
    except (ValueError, KeyError, TypeError):
        message = content.decode(errors="replace")
    return " ".join(str(message).split())[:LONGEST_MESSAGE] or "the server does not say why"
