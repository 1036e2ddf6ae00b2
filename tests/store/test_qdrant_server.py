"""A server: what fails for a moment is tried again, the rest is a sentence; the key goes nowhere else."""

import json
import shutil
import subprocess
from traceback import format_exception

import pytest

from lmm_core.errors import StoreError
from lmm_core.store import qdrant_store
from lmm_core.store.places import RemoteSource, open_store
from tests.qdrant_server import BINARY, FailingServer, Fault, RealServer
from tests.store.points import INDEXES, SPEC, point

KEYS = {"service__api_key": "s3cret-key", "service__read_only_api_key": "re4d-key"}
needs_binary = pytest.mark.skipif(not BINARY, reason="a server of its own needs QDRANT_TEST_BINARY")


@pytest.fixture
def server(monkeypatch):
    """A server without collections that fails on demand, to which nobody waits long to come back."""
    monkeypatch.setattr(qdrant_store, "WAITS", (0.01, 0.02))
    with FailingServer() as server:
        yield server


@pytest.fixture
def failing(server, qdrant):
    """The same before a real one, with the collection `notes`."""
    server.behind = qdrant
    opened(server).create("notes", SPEC, {}, INDEXES)
    server.requests.clear()
    return server


def opened(server):
    return open_store(RemoteSource(server.url, timeout=1))


# What fails


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [Fault(times=2, status=503), Fault(times=1, drop=True, done=True), Fault(times=1, delay=1.3)],
    ids=["503", "dropped", "slow"],
)
def test_what_passes_is_tried_again(server, fault):
    server.faults.append(fault)
    assert opened(server).collections() == []
    assert fault.times == 0


@pytest.mark.qdrant
def test_points_whose_answer_was_lost_are_written_once(failing):
    failing.faults.append(Fault("PUT /collections/notes/points", times=2, drop=True, done=True))
    opened(failing).upsert("notes", [point(n) for n in range(1, 600)])
    assert opened(failing).count("notes") == 599
    sent = [len(body["points"]) for body in failing.bodies if "points" in body]
    assert sent == [256, 256, 256, 256, 87]


@pytest.mark.parametrize(
    ("fault", "sent", "said"),
    [
        (Fault(times=9, status=400, text="Wrong input: too long"), 1, r"refuses this \(400\): Wrong input: too long"),
        (Fault(times=9, drop=True), 3, r"The connection to http://127.0.0.1:\d+ broke"),
    ],
    ids=["refused", "dropped"],
)
def test_what_does_not_pass_is_a_sentence(server, fault, sent, said):
    server.faults.append(fault)
    with pytest.raises(StoreError, match=said):
        opened(server).collections()
    assert fault.times == 9 - sent


def test_a_server_that_is_not_there():
    store = open_store(RemoteSource("http://127.0.0.1:9"))
    with pytest.raises(StoreError, match=r"No Qdrant server answers at http://127.0.0.1:9 \(.*refused.*\)"):
        store.collections()


@pytest.mark.qdrant
def test_a_server_that_keeps_no_metadata_is_too_old(failing, monkeypatch):
    """Servers before 1.16 drop the metadata of a collection without a word."""

    def forget(method, path, body):
        return serve(method, path, json.dumps({**json.loads(body or b"{}"), "metadata": None}).encode())

    serve = failing.serve
    monkeypatch.setattr(failing, "serve", forget)
    store = opened(failing)
    with pytest.raises(StoreError, match=r"does not store metadata .*1\.16 or later"):
        store.create("other", SPEC, {"embedding": "é"}, INDEXES)
    assert store.collections() == ["notes"]


# Keys


def test_the_key_comes_from_the_environment_and_is_never_told(monkeypatch, server):
    told = []
    server.key = "s3cret-key"
    for given, expected in (
        ("", "requires a key: set QDRANT_API_KEY"),
        ("wr0ng-key", "refuses the key in QDRANT_API_KEY"),
    ):
        monkeypatch.setenv("QDRANT_API_KEY", given)
        with pytest.raises(StoreError, match=expected) as error:
            opened(server).collections()
        told += [str(error.value), *format_exception(error.value), repr(error.value.__cause__)]
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
    store = opened(server)
    assert store.collections() == []
    server.faults.append(Fault(status=400, text="you said s3cret-key"))
    with pytest.raises(StoreError, match=r"you said .the key in QDRANT_API_KEY.") as error:
        store.collections()
    told += [str(error.value), *format_exception(error.value), repr(RemoteSource(server.url)), repr(store)]
    assert not [text for text in told if "s3cret" in text or "wr0ng" in text]


@pytest.mark.qdrant
@needs_binary
def test_a_real_server_wants_its_key(tmp_path, monkeypatch):
    with RealServer(tmp_path / "qdrant", **KEYS) as server:
        monkeypatch.setenv("QDRANT_API_KEY", "wr0ng-key")
        with pytest.raises(StoreError, match="refuses the key in QDRANT_API_KEY"):
            opened(server).collections()
        monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
        opened(server).create("notes", SPEC, {"a": 1}, INDEXES)
        monkeypatch.setenv("QDRANT_API_KEY", "re4d-key")
        reader = opened(server)
        assert (reader.count("notes"), reader.metadata("notes")) == (0, {"a": 1})
        with pytest.raises(StoreError, match="forbids this to the key in QDRANT_API_KEY, which may only read"):
            reader.upsert("notes", [point(2)])


@pytest.mark.qdrant
@needs_binary
@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate by openssl")
def test_a_certificate_has_to_be_trusted(tmp_path, monkeypatch):
    made = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=me -addext"
    subprocess.run([*made.split(), "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    files = {"tls__cert": str(tmp_path / "cert.pem"), "tls__key": str(tmp_path / "key.pem")}
    with RealServer(tmp_path / "qdrant", service__enable_tls="true", **files) as server:
        with pytest.raises(StoreError, match=r"The certificate of https://\S+ is not trusted: .*SSL_CERT_FILE"):
            opened(server).collections()
        monkeypatch.setenv("SSL_CERT_FILE", files["tls__cert"])
        assert opened(server).collections() == []


def test_the_port_is_the_urls_or_the_one_given():
    assert RemoteSource("https://a.org").address == "https://a.org:6333"
    assert RemoteSource("https://a.org", 443).address == "https://a.org:443"
    assert RemoteSource("http://user:pw@a.org:80/base", 9).address == "http://a.org:80/base"
