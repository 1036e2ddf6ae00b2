"""A server that speaks Qdrant's REST for the calls that we make, with faults on demand.

What it stores is qdrant-client's local mode. `python -m tests.qdrant_server PORT` runs one.
A real server, where LMM_TEST_QDRANT names one, is used through `OwnNames`.
"""

import contextlib
import json
import re
import socket
import sys
import threading
import time
import warnings
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models

NAME = r"/collections/(?P<name>[^/]+)"


class OwnNames:
    """A client of a server that may have collections of others: names on the server begin
    with a prefix of our own, and what has it is removed at the end."""

    def __init__(self, client, url):
        self.client, self.url, self.prefix = client, url, f"lmm-test-{uuid4().hex[:8]}-"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # by another client: ours may be closed
        with contextlib.closing(QdrantClient(url=self.url, check_compatibility=False)) as client:
            for each in client.get_collections().collections:
                if each.name.startswith(self.prefix):
                    client.delete_collection(each.name)

    def __getattr__(self, method):
        """The client's methods, all of which take a collection's name first."""
        return lambda name, *given, **named: getattr(self.client, method)(self.prefix + name, *given, **named)

    def get_collections(self):
        found = [each.name for each in self.client.get_collections().collections]
        ours = [name.removeprefix(self.prefix) for name in found if name.startswith(self.prefix)]
        return models.CollectionsResponse(collections=[models.CollectionDescription(name=name) for name in ours])

    def get_aliases(self):
        ours = [each for each in self.client.get_aliases().aliases if each.alias_name.startswith(self.prefix)]
        for each in ours:
            each.alias_name = each.alias_name.removeprefix(self.prefix)
            each.collection_name = each.collection_name.removeprefix(self.prefix)
        return models.CollectionsAliasesResponse(aliases=ours)

    def update_collection_aliases(self, operations):
        ours = [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(
                    collection_name=self.prefix + one.create_alias.collection_name,
                    alias_name=self.prefix + one.create_alias.alias_name,
                )
            )
            for one in operations
        ]
        return self.client.update_collection_aliases(ours)

    def close(self):
        self.client.close()


@dataclass
class Fault:
    """What happens to the next requests whose `METHOD path` has `on` in it: the first `after`
    of them are served, the `times` after those fail; then all is well again.

    status: is answered in place of the answer. drop: the connection is closed, nothing
    answered. delay: seconds before the answer. done: the request is carried out nevertheless."""

    on: str = ""
    times: int = 1
    after: int = 0
    status: int = 0
    drop: bool = False
    delay: float = 0.0
    done: bool = False
    headers: tuple = ()
    text: str = "an injected fault"


class QdrantServer:
    """With `key`, requests without it are refused; `old`: a server before 1.16, which
    drops the metadata of collections."""

    def __init__(self, key="", old=False, port=0):
        self.key, self.old = key, old
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.bodies: list[dict] = []
        self.lock = threading.RLock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.client = QdrantClient(":memory:")
        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads, self.server.qdrant = True, self
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.client.close()

    def fault_for(self, line):
        """The fault of a request, counted."""
        with self.lock:
            for fault in self.faults:
                if fault.on not in line or (fault.times < 1 and fault.after < 1):
                    continue
                if fault.after:
                    fault.after -= 1
                    return None
                fault.times -= 1
                return fault
        return None

    def refusal(self, key):
        """Status and text for who does not have the key."""
        if not self.key or key == self.key:
            return None
        return (403, f"Invalid API key {key}") if key else (401, "Must provide an API key")

    def serve(self, line, body):
        """Status and result of a request, one at a time: the local mode is no server."""
        with self.lock:
            self.requests.append(line)
            self.bodies.append(body)
            return self.answer(line, body)

    def answer(self, line, body):
        """Status and result of a request."""
        for pattern, serve in ROUTES:
            if found := re.fullmatch(pattern, line):
                try:
                    return 200, serve(self, body, **found.groupdict())
                except (ValueError, KeyError) as error:
                    missing = "not found" in str(error)
                    return (404 if missing else 400), str(error)
        return 404, f"the test server does not know {line}"

    def create(self, body, name):
        metadata = None if self.old else body.get("metadata")
        vectors = TypeAdapter(models.VectorsConfig | None).validate_python(body.get("vectors"))
        sparse = TypeAdapter(dict[str, models.SparseVectorParams] | None).validate_python(body.get("sparse_vectors"))
        return self.client.create_collection(name, vectors, sparse_vectors_config=sparse, metadata=metadata)

    def drop(self, _, name):
        return self.client.delete_collection(name)

    def info(self, _, name):
        return self.client.get_collection(name)

    def names(self, _):
        return self.client.get_collections()

    def exists(self, _, name):
        return {"exists": self.client.collection_exists(name)}

    def aliases(self, _):
        return self.client.get_aliases()

    def change_aliases(self, body):
        """As the real server: in their order, and no alias has the name of a collection."""
        operations = TypeAdapter(list[models.AliasOperations]).validate_python(body["actions"])
        return self.client.update_collection_aliases(operations)

    def index(self, _body, name):
        """The local mode has no indexes, and says so."""
        self.client.get_collection(name)
        return DONE

    def upsert(self, body, name):
        self.client.upsert(name, models.PointsList.model_validate(body).points)
        return DONE

    def change(self, body, name):
        operations = [models.OverwritePayloadOperation.model_validate(each) for each in body["operations"]]
        for operation in operations:
            ids = operation.overwrite_payload.points
            there = {record.id for record in self.client.retrieve(name, ids)}
            for missing in set(ids) - there:
                raise ValueError(f"No point with id {missing} not found")
        self.client.batch_update_points(name, operations)
        return [DONE for _ in operations]

    def delete(self, body, name):
        self.client.delete(name, models.PointIdsList.model_validate(body))
        return DONE

    def query(self, body, name):
        return self.client.query_batch_points(name, models.QueryRequestBatch.model_validate(body).searches)

    def scroll(self, body, name):
        asked = models.ScrollRequest.model_validate(body)
        points, after = self.client.scroll(
            name, asked.filter, limit=asked.limit, offset=asked.offset, with_payload=asked.with_payload
        )
        return {"points": [as_json(point) for point in points], "next_page_offset": after}

    def retrieve(self, body, name):
        asked = models.PointRequest.model_validate(body)
        return self.client.retrieve(name, asked.ids, with_payload=asked.with_payload)

    def count(self, body, name):
        return self.client.count(name, models.CountRequest.model_validate(body).filter)

    def facet(self, body, name):
        asked = models.FacetRequest.model_validate(body)
        return self.client.facet(name, asked.key, asked.filter, asked.limit)


DONE = {"operation_id": 1, "status": "completed"}
ROUTES = [
    ("GET /collections", QdrantServer.names),
    ("GET /aliases", QdrantServer.aliases),
    ("POST /collections/aliases", QdrantServer.change_aliases),
    (f"GET {NAME}/exists", QdrantServer.exists),
    (f"GET {NAME}", QdrantServer.info),
    (f"PUT {NAME}", QdrantServer.create),
    (f"DELETE {NAME}", QdrantServer.drop),
    (f"PUT {NAME}/index", QdrantServer.index),
    (f"PUT {NAME}/points", QdrantServer.upsert),
    (f"POST {NAME}/points/batch", QdrantServer.change),
    (f"POST {NAME}/points/delete", QdrantServer.delete),
    (f"POST {NAME}/points/query/batch", QdrantServer.query),
    (f"POST {NAME}/points/scroll", QdrantServer.scroll),
    (f"POST {NAME}/points/count", QdrantServer.count),
    (f"POST {NAME}/points", QdrantServer.retrieve),
    (f"POST {NAME}/facet", QdrantServer.facet),
]


def as_json(thing):
    """What the client's models say, as JSON has it."""
    if isinstance(thing, list):
        return [as_json(each) for each in thing]
    return thing.model_dump(mode="json") if hasattr(thing, "model_dump") else thing


class Handler(BaseHTTPRequestHandler):
    """Reads requests, writes answers."""

    protocol_version = "HTTP/1.1"

    def handle_any(self):
        qdrant, line = self.server.qdrant, f"{self.command} {self.path.partition('?')[0]}"
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        fault = qdrant.fault_for(line) or Fault()
        time.sleep(fault.delay)
        fails = fault.status or fault.drop
        if refused := qdrant.refusal(self.headers.get("api-key")):
            self.reply(*refused)
        elif fails and not fault.done:
            self.fail(fault)
        else:
            answer = qdrant.serve(line, body)
            self.fail(fault) if fails else self.reply(*answer)

    do_GET = do_PUT = do_POST = do_DELETE = handle_any

    def fail(self, fault):
        if fault.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.reply(fault.status, fault.text, fault.headers)

    def reply(self, status, result, headers=()):
        answer = {"time": 0.0, "status": "ok" if status == 200 else {"error": result}, "result": as_json(result)}
        data = json.dumps(answer).encode()
        with contextlib.suppress(OSError):  # the client has gone: it waits for so long only
            self.send_response(status)
            for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    def finish(self):
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with QdrantServer(port=int(sys.argv[1])) as running:
        print(running.url, flush=True)
        threading.Event().wait()
