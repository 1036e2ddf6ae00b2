"""A real Qdrant server on loopback, and one without collections that fails on demand.

QDRANT_TEST_BINARY names a `qdrant` that the tests start, QDRANT_TEST_URL one that runs and has no
collections; what the tests make there they remove.
"""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from tests.effort import PATIENCE, wait_for

BINARY, URL = os.environ.get("QDRANT_TEST_BINARY", ""), os.environ.get("QDRANT_TEST_URL", "")
NO_SERVER = "no Qdrant server: set QDRANT_TEST_BINARY (a qdrant to start) or QDRANT_TEST_URL (one without collections)"


def free_ports(count):
    """Return ports of loopback that nobody uses."""
    with contextlib.ExitStack() as using:
        sockets = [using.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


class RealServer:
    """A `qdrant` process with a folder of its own. settings: of its configuration, `service__api_key="…"`."""

    def __init__(self, folder, *arguments, **settings):
        self.folder, self.arguments = folder, arguments
        port, grpc = free_ports(2)
        self.settings = {
            "service__host": "127.0.0.1", "service__http_port": str(port), "service__grpc_port": str(grpc),
            "storage__storage_path": str(folder / "storage"), "storage__snapshots_path": str(folder / "snapshots"),
            "telemetry_disabled": "true",
        } | settings  # fmt: skip
        scheme = "https" if settings.get("service__enable_tls") else "http"
        self.url = f"{scheme}://{self.settings['service__host']}:{self.settings['service__http_port']}"
        self.process = None

    def start(self):
        """Start it, without waiting for it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        env = os.environ | {f"QDRANT__{name.upper()}": value for name, value in self.settings.items()}
        with (self.folder / "log").open("ab") as log:
            command = [BINARY, *self.arguments]
            self.process = subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)

    def is_ready(self):
        """Tell whether it takes requests."""
        if self.process.poll() is not None:
            raise AssertionError((self.folder / "log").read_text()[-2000:])
        try:
            with urlopen(f"{self.url}/readyz", timeout=PATIENCE) as answer:
                return answer.status == 200
        except URLError as error:
            return "CERTIFICATE" in str(error)  # of our own, which only the test trusts
        except OSError:
            return False

    def stop(self, kill=False):
        """End it, by its own process alone."""
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(PATIENCE)

    def __enter__(self):
        self.start()
        wait_for(self.is_ready)
        return self

    def __exit__(self, *_):
        self.stop()


def client_of(url):
    """A client of a server, closed with the block."""
    from qdrant_client import QdrantClient

    return contextlib.closing(QdrantClient(url=url, check_compatibility=False))


def collections_of(url):
    """The names of a server's collections."""
    with client_of(url) as client:
        return sorted(each.name for each in client.get_collections().collections)


def remove_collections(url):
    """Leave a server without collections."""
    with client_of(url) as client:
        for name in collections_of(url):
            client.delete_collection(name)


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
    text: str = "an injected fault"


class FailingServer:
    """Fails as `faults` say; other requests go to the real server at `behind`.

    Without that, it is a server without collections. With `key`, requests without it are refused."""

    def __init__(self, behind="", key=""):
        self.behind, self.key = behind, key
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.bodies: list[dict] = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads, self.server.qdrant = True, self
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

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

    def serve(self, method, path, body):
        """Status and content of the answer to a request."""
        with self.lock:
            self.requests.append(f"{method} {path.partition('?')[0]}")
            self.bodies.append(json.loads(body or b"{}"))
        if not self.behind:
            name = path.strip("/").rpartition("/")[2]
            return 200, json.dumps({"result": {name: False if name == "exists" else []}}).encode()
        connection = HTTPConnection(urlsplit(self.behind).netloc)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()


class Handler(BaseHTTPRequestHandler):
    """Reads requests, writes answers."""

    protocol_version = "HTTP/1.1"

    def handle_any(self):
        qdrant = self.server.qdrant
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = qdrant.fault_for(f"{self.command} {self.path.partition('?')[0]}") or Fault()
        time.sleep(fault.delay)
        fails, key = fault.status or fault.drop, self.headers.get("api-key")
        if qdrant.key and key != qdrant.key:
            self.refuse(401, f"Invalid API key {key}" if key else "Must provide an API key")
        elif fails and not fault.done:
            self.fail(fault)
        else:
            answer = qdrant.serve(self.command, self.path, body)
            self.fail(fault) if fails else self.reply(*answer)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any

    def fail(self, fault):
        if fault.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.refuse(fault.status, fault.text)

    def refuse(self, status, text):
        self.reply(status, json.dumps({"status": {"error": text}}).encode())

    def reply(self, status, data):
        with contextlib.suppress(OSError):  # the client has gone: it waits for so long only
            self.send_response(status)
            for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(data)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

    def finish(self):
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def log_message(self, *_):
        pass
