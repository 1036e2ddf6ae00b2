"""Strangers, and helpers that hang, against `lmm serve` without a proxy.

Each attack is held to the same: an honest reader is answered, the log stays short, and what was
open is closed again.
"""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest
from starlette.responses import Response

from lmm_core.retrieve import search as retriever
from lmm_core.serving import answers as serving_answers
from lmm_core.serving.server import Connection
from lmm_core.store.vector_store import THREADS
from tests.commands import write
from tests.effort import PATIENCE, wait_for
from tests.embedding_server import EmbeddingServer
from tests.indexing import document, lmm
from tests.model_server import ModelServer
from tests.qdrant_server import FailingServer, Fault
from tests.serving import ASK, Served, events_in, said

pytestmark = pytest.mark.slow  # what hangs is waited for
SHORT_LOG = 20_000  # characters
NOTES = document("oak", "birch", header="title: Trees\ndocid: trees")
HONEST = {"X-Forwarded-For": "192.0.2.7"}  # not the attackers' address
HEAD = b"Host: localhost\r\n"
SLOW_BODY = b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 100\r\n\r\n{"


def honest(port, asked=ASK):
    """An honest reader's answer, over a connection of its own."""
    response = httpx.post(f"http://127.0.0.1:{port}/ask", json=asked, headers=HONEST, timeout=PATIENCE)
    assert response.status_code == 200, response.text
    events = events_in(response.text)
    assert events[-1][0] == "done"
    return events


def connect(port, data=b""):
    """A connection of an attacker, who has sent something."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    with suppress(OSError):
        connection.sendall(data)
    return connection


def is_ended(connection):
    """Whether the server has closed a connection. (What it has sent is read.)"""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


# Connections


def test_where_all_are_being_answered_another_one_is_told_to_come_again(course, far_end, released, monkeypatch):
    """None of them is closed for it."""
    monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
    with ModelServer(reply="Yes [1].") as model, Served(course, connections=5) as served:
        far_end(model)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(honest, served.port) for _ in range(4)]
            wait_for(lambda: model.at_once == 4)
            refused = httpx.get(f"http://127.0.0.1:{served.port}/health", timeout=PATIENCE)
            released.set()
            assert [said(one.result()) for one in asked] == ["Yes [1]."] * 4
        assert refused.status_code == 503
        assert served.client.get("/health").status_code == 200


def test_a_picture_in_a_page_of_another_site_asks_nothing(course):
    site, allowed = "same-site", "https://course.example.org"
    with Served(course, rate=2, origins=(allowed,), files={"/box/page": Response("page")}) as served:
        strange = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        for path in ("/search?q=oak", "/about", "/health") * 10:
            assert served.client.get(path, headers=strange).status_code == 403
        assert served.client.post("/ask", json=ASK, headers=strange).status_code == 403
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        assert served.client.post("/ask", json=ASK, headers=own).status_code == 200  # its rate is untouched
        followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert served.client.get("/box/page", headers=followed).text == "page"
        asked = {"Sec-Fetch-Site": "cross-site", "Origin": allowed}
        assert served.client.get("/search?q=oak", headers=asked).status_code == 200


# Time


@pytest.mark.parametrize("data", [b"GET /health HTTP/1.1\r\nX-Slow: ", SLOW_BODY], ids=["head", "body"])
def test_a_request_that_comes_byte_by_byte_is_ended(course, data, monkeypatch):
    monkeypatch.setattr(Connection, "asking", 0.5)
    with Served(course) as served:
        connection = connect(served.port, data)
        began, ended = time.monotonic(), False
        while not (ended := is_ended(connection)) and time.monotonic() < began + PATIENCE:
            time.sleep(0.05)
            with suppress(OSError):
                connection.send(b"x")
        assert ended
        wait_for(lambda: not served.server.server_state.connections)
        assert said(honest(served.port))


# Nonsense


@pytest.mark.parametrize(
    "data",
    [
        b"GET /%1b%5d0;title%07%0a2026-01-01T00:00:00%20forged HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=["escapes", "length and chunks"],
)
def test_nonsense_is_refused_and_told_once(course, data, monkeypatch):
    monkeypatch.setattr(Connection, "asking", 2.0)
    with Served(course) as served:
        for _ in range(40):
            with connect(served.port, data) as connection, suppress(OSError):
                connection.recv(1 << 16)
            with connect(served.port, data[:-7]):
                time.sleep(0.002)  # the beginning is looked at, and no rest comes
        assert said(honest(served.port))
        wait_for(lambda: not served.server.server_state.tasks)
    log = "\n".join(served.log)
    assert "Traceback" not in log and "\x1b" not in log and "\nforged" not in log and "title" not in log
    assert len(log) < 10_000


# Helpers that hang


@pytest.fixture
def released():
    """Ends the waiting of far ends that hang, at the latest when the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def far_end(monkeypatch, released):
    """Makes a server the one that models are asked at, and lets it hang."""

    def use(server):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        answer = server.answer

        def late(body, *more):
            released.wait(4 * PATIENCE)
            return answer(body, *more)

        server.answer = late

    return use


@pytest.mark.parametrize("encoding", ["hybrid", "content"])
def test_an_embedder_that_hangs(encoding, tmp_path, far_end, monkeypatch):
    """Where the index has the words, they are searched for; else it is said that no model can be asked."""
    write("config.toml", f"[embeddings]\nencoding = '{encoding}'\ndense_model = 'openai/embedder'\n")
    write("trees.md", NOTES)
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        lmm("index . -q")
        far_end(server)
        monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
        monkeypatch.setenv("LMM_MODEL_MAJOR", "extractive/default")
        with Served(tmp_path, search_timeout=4.0) as served:
            response = served.client.post("/ask", json=ASK)
            found = served.client.get("/search", params={"q": "oak"})
    log = "\n".join(served.log)
    assert "openai/embedder: no answer in 1 s" in log
    if encoding == "hybrid":
        events = events_in(response.text)
        assert "the **oak** is explained" in said(events) and retriever.BY_WORDS in events[-1][1]["notes"]
        assert found.json()["hits"][0]["anchor"] == "about-oak"
    else:
        assert (response.status_code, response.json()["error"]) == (503, serving_answers.NO_MODEL)
        assert (found.status_code, found.json()["error"]) == (503, serving_answers.NO_MODEL)


@pytest.mark.qdrant
def test_a_store_that_hangs(tmp_path, qdrant):
    """Many ask at once: each is told in time to come again, and what needs no store is there."""
    with FailingServer(qdrant) as store:
        write("config.toml", f"[storage]\nurl = '{store.url}'\n[database]\ncollection_name = 'chunks'\n")
        write("trees.md", NOTES)
        lmm("index . -q")
        page = {"/page": Response("here")}
        with Served(tmp_path, files=page, search_timeout=1.0, rate=1000) as served:
            assert said(served.events())
            hang = Fault(times=100_000, delay=4.0)
            store.faults.append(hang)
            with ThreadPoolExecutor(3 * THREADS) as pool:
                asked = [pool.submit(served.client.post, "/ask", json=ASK, timeout=60) for _ in range(3 * THREADS)]
                assert served.client.get("/page").text == "here"
                answers = [one.result() for one in asked]
            assert {answer.status_code for answer in answers} <= {503, 429}
            assert 503 in {answer.status_code for answer in answers}
            store.faults.clear()
            wait_for(lambda: served.client.post("/ask", json=ASK).status_code == 200, 4 * PATIENCE)
    assert any("reading and searching took more than" in line for line in served.log)
    assert len("\n".join(served.log)) < SHORT_LOG
