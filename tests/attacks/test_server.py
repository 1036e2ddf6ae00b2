"""Strangers, and helpers that hang, against `lmm serve` without a proxy.

Each attack is held to the same: an honest reader is answered, the log stays short, and what was
open is closed again.
"""

import asyncio
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest
from starlette.responses import Response

from lmm_core.retrieve import search as retriever
from lmm_core.serving import answers as serving_answers
from lmm_core.serving.log import EVERY, Log
from lmm_core.serving.server import Connection
from lmm_core.store.threads import THREADS, run_in_thread
from tests.commands import write
from tests.effort import PATIENCE
from tests.embedding_server import EmbeddingServer
from tests.indexing import document, lmm
from tests.model_server import ModelServer
from tests.qdrant_server import FailingServer, Fault
from tests.serving import ASK, Served, events_in, said

pytestmark = pytest.mark.slow  # what hangs is waited for
FILES = 256  # that the server may have open: less than there are attackers
ATTACKERS = 320
SHORT_LOG = 20_000  # characters
NOTES = document("oak", "birch", header="title: Trees\ndocid: trees")
HONEST = {"X-Forwarded-For": "192.0.2.7"}  # not the attackers' address
HEAD = b"Host: localhost\r\n"
SLOW_HEAD = b"POST /ask HTTP/1.1\r\nHost: loc"
SLOW_BODY = b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 100\r\n\r\n{"


def until(is_so, seconds=PATIENCE):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it is not so in time"
        time.sleep(0.02)


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


@contextmanager
def attacked(port, data, count=ATTACKERS):
    """So many connections that are held open."""
    held = [connect(port, data) for _ in range(count)]
    try:
        yield held
    finally:
        for connection in held:
            connection.close()


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


def test_where_all_are_being_answered_another_one_is_told_to_come_again(course, monkeypatch):
    """None of them is closed for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
    released = threading.Event()
    with ModelServer(reply="Yes [1].") as model, Served(course, connections=5) as served:
        model.answer = hanging(model.answer, released)
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(honest, served.port) for _ in range(4)]
            until(lambda: model.at_once == 4)
            refused = httpx.get(f"http://127.0.0.1:{served.port}/health", timeout=PATIENCE)
            released.set()
            assert [said(one.result()) for one in asked] == ["Yes [1]."] * 4
        assert refused.status_code == 503
        assert served.client.get("/health").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_picture_in_a_page_of_another_site_asks_nothing(course, site):
    with Served(course, rate=1, files={"/box/page": Response("page")}) as served:
        strange = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
        for path in ("/search?q=oak", "/outline", "/health") * 10:
            assert served.client.get(path, headers=strange).status_code == 403
        assert served.client.post("/ask", json=ASK, headers=strange).status_code == 403
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        assert served.client.post("/ask", json=ASK, headers=own).status_code == 200  # its rate is untouched
        followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert served.client.get("/box/page", headers=followed).text == "page"


@pytest.mark.parametrize("origin", ["https://course.example.org", "null"])
def test_a_page_of_a_site_that_is_allowed_asks(course, origin):
    with Served(course, origins=(origin,)) as served:
        headers = {"Sec-Fetch-Site": "cross-site", "Origin": origin}
        assert served.client.get("/search?q=oak", headers=headers).status_code == 200


# Time


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET /health HTTP/1.1\r\nX-Slow: ",
        SLOW_BODY,
        SLOW_BODY.replace(b"/ask", b"/health"),
        SLOW_BODY.replace(b"localhost", b"evil.example"),
        b"POST /ask HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n",
        b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\nGET /health",
    ],
    ids=["silent", "head", "body", "body that is not wanted", "body of a stranger", "chunk", "second head"],
)
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
        until(lambda: not served.server.server_state.connections)
        assert said(honest(served.port))


def test_a_request_that_takes_a_moment_is_answered(course):
    """As does a second one on the same connection: the time begins anew."""
    with Served(course) as served:
        connection = connect(served.port)
        for _ in range(2):
            for part in (b"GET /health HT", b"TP/1.1\r\nHost: loc", b"alhost\r\n\r\n"):
                connection.sendall(part)
                time.sleep(0.1)
            connection.settimeout(PATIENCE)
            answer = b""
            while not answer.endswith(b"}"):  # it may come in parts
                part = connection.recv(1 << 16)
                assert part
                answer += part
            assert answer.startswith(b"HTTP/1.1 200")


# Nonsense

NONSENSE = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00",
    "version": b"GET / HTTP/9.9\r\n\r\n",
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "a header that is too long": b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    "a path that is too long": b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    "escapes": b"GET /\x1b]0;title\x07\x1b[2J HTTP/1.1\r\n" + HEAD + b"\r\n",
    "escapes, encoded": b"GET /%1b%5d0;title%07%0a2026-01-01T00:00:00%20forged HTTP/1.1\r\n" + HEAD + b"\r\n",
    "NULs": b"GET /health\x00 HTTP/1.1\r\nHost: \x00\r\n\r\n",
    "lines in a header": b"GET /health HTTP/1.1\r\nHost: localhost\nX: \x1b[2Jforged\r\n\r\n",
    "two lengths": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nContent-Length: 5\r\n\r\n{}",
    "length and chunks": b"POST /ask HTTP/1.1\r\n"
    + HEAD
    + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length below 0": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\n",
    "no chunks": b"POST /ask HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n",
    "no chunks, and no one who wants them": b"POST /health HTTP/1.1\r\n"
    + HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZZ\r\n",
    "something after the answer": b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n\x00\x01\x02 garbage\r\n\r\n",
    "many at once": (b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n") * 200,
    "another protocol": b"GET / HTTP/1.1\r\n"
    + HEAD
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_and_told_once(course, name, monkeypatch):
    monkeypatch.setattr(Connection, "asking", 2.0)
    with Served(course) as served:
        for _ in range(40):
            with connect(served.port, NONSENSE[name]) as connection, suppress(OSError):
                connection.recv(1 << 16)
            late = connect(served.port, NONSENSE[name][:-7])
            time.sleep(0.002)  # the rest comes when the beginning has been looked at
            with late, suppress(OSError):
                late.sendall(NONSENSE[name][-7:])
        assert said(honest(served.port))
        until(lambda: not served.server.server_state.tasks)
    log = "\n".join(served.log)
    assert "Traceback" not in log and "\x1b" not in log and "\nforged" not in log and "title" not in log
    assert len(log) < 10_000


# The log


def test_what_anybody_can_cause_is_said_so_often_a_minute():
    said, now = [], 0.0
    log = Log(said.append, lambda: now)
    for at in range(1204):
        log(f"the model: error {at}")
    for at in range(7):
        log(f"12:00 GET / 200 {at} ms", "GET / 200", 5)
    assert said == ["the model: error 0", *(f"12:00 GET / 200 {at} ms" for at in range(5))]
    now = EVERY
    log("something else")
    assert said[6:] == [
        "the model … and 1,203 more like this in the last minute",
        "GET / 200 … and 2 more like this in the last minute",
        "something else",
    ]
    log("the model: error 9")
    assert said[9:] == ["the model: error 9"]


@pytest.mark.parametrize("path", ["/health", "/", "/ask", "/nothing"])
@pytest.mark.parametrize("options", [{}, {"token": "t0ken"}, {"rate": 1}], ids=["let in", "401", "429"])
def test_an_invented_method_is_no_kind_of_its_own(course, path, options):
    with Served(course, **options) as served:
        for at in range(100):
            request = f"{'X' * 3000}{at} {path} HTTP/1.1\r\n".encode() + HEAD + b"\r\n"
            with connect(served.port, request) as connection:
                assert connection.recv(1 << 16)
    log = "\n".join(served.log)
    assert "XXX" not in log and len(log) < 10_000


def test_no_text_in_the_log_can_look_like_another_entry():
    said = []
    Log(said.append)("the model: no\x1b[2J\r\n2026-01-01T00:00:00 POST /ask 200 1 ms")
    assert said == ["the model: no[2J\n    2026-01-01T00:00:00 POST /ask 200 1 ms"]


def test_a_mistake_of_ours_is_told_with_its_place_once(course, monkeypatch):
    async def fail(*_):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(serving_answers.Answers, "health", fail)
    with Served(course) as served:
        address = f"http://127.0.0.1:{served.port}/health"
        assert {httpx.get(address, timeout=PATIENCE).status_code for _ in range(20)} == {500}
    told = [line for line in served.log if "Traceback" in line]
    assert len(told) == 1 and "test_server.py" in told[0] and "a mistake of ours" in told[0]


# Helpers that hang

VAGUE = "What makes an oak majestic?"  # its own words do not suffice, so that the model is asked for queries


def hanging(answer, released):
    """A far end that answers when it is released."""

    def late(*asked):
        released.wait(4 * PATIENCE)
        return answer(*asked)

    return late


@pytest.fixture
def released():
    """Ends the waiting of far ends that hang, at the latest when the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def far_end(monkeypatch):
    """Makes a server the one that models are asked at."""

    def use(server):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    return use


def test_a_model_that_gives_no_queries_in_time_is_done_without(course, far_end, released):
    with ModelServer(reply="The oak [1].") as model, Served(course, search_timeout=8.0) as served:
        far_end(model)
        answer = model.answer

        def late(body, key):
            if "`queries`" in body["messages"][0]["content"]:
                released.wait(4 * PATIENCE)
            return answer(body, key)

        model.answer = late
        events = honest(served.port, {"question": VAGUE})
    assert said(events) == "The oak [1]."
    assert events[-1][1]["notes"] == [retriever.BY_QUESTION]
    assert f"{retriever.BY_QUESTION}: no answer in 2 s" in served.log


def test_a_reranker_that_hangs_is_done_without(course, tmp_path, monkeypatch, released):
    with ModelServer() as server:
        server.answer = hanging(server.answer, released)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
        monkeypatch.setenv("LMM_ASK__RERANK", "model")
        with Served(course, search_timeout=4.0, idle_timeout=0.5) as served:
            events = events_in(served.client.post("/ask", json=ASK).text)
    assert [name for name, _ in events] == ["sources", "error"]  # the model hangs, too
    assert f"{retriever.NOT_RERANKED}: no answer in 1 s" in served.log


@pytest.mark.parametrize("encoding", ["hybrid", "content"])
def test_an_embedder_that_hangs(encoding, tmp_path, far_end, monkeypatch, released):
    """Where the index has the words, they are searched for; else it is said that no model can be asked."""
    write("config.toml", f"[embeddings]\nencoding = '{encoding}'\ndense_model = 'openai/embedder'\n")
    write("trees.md", NOTES)
    with EmbeddingServer() as server:
        far_end(server)
        lmm("index . -q")
        server.answer = hanging(server.answer, released)
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
            assert {answer.headers["Retry-After"] for answer in answers} <= {"5", "2"}
            assert 503 in {answer.status_code for answer in answers}
            store.faults.clear()
            until(lambda: served.client.post("/ask", json=ASK).status_code == 200, 4 * PATIENCE)
    assert any("reading and searching took more than" in line for line in served.log)
    assert len("\n".join(served.log)) < SHORT_LOG


def test_calls_of_a_store_that_hang_keep_no_other_work_waiting():
    """A look-up of an address, say, which Python does in a thread as well."""
    released = threading.Event()

    async def work():
        hung = [asyncio.create_task(run_in_thread(released.wait, PATIENCE)) for _ in range(5 * THREADS)]
        await asyncio.sleep(0.1)
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(lambda: "done") == "done"
            for task in hung[THREADS:]:
                task.cancel()
            released.set()
            assert await run_in_thread(lambda: "next") == "next"
        return await asyncio.gather(*hung, return_exceptions=True)

    ended = asyncio.run(work())
    assert ended[:THREADS] == [True] * THREADS
    assert all(isinstance(one, asyncio.CancelledError) for one in ended[THREADS:])


def test_lookups_that_hang_give_their_places_back(course, far_end, released):
    with ModelServer(reply="Yes [1].") as model:
        far_end(model)
        answer, model.answer = model.answer, hanging(model.answer, released)
        with Served(course, concurrency=2, search_timeout=1.0, timeout=1.5, rate=1000) as served:
            with ThreadPoolExecutor(6) as pool:
                asked = list(pool.map(lambda at: served.client.post("/ask", json=ASK), range(6)))
            assert all(one.status_code in (429, 503) or "event: error" in one.text for one in asked)
            assert all("Retry-After" in one.headers for one in asked if one.status_code != 200)
            released.set()
            model.answer = answer
            until(lambda: "event: done" in served.client.post("/ask", json=ASK).text)


# Neighbours


def test_the_command_line_does_without_helpers_that_hang_too(course, far_end, monkeypatch, released):
    monkeypatch.setattr("lmm_core.retrieve.library.PATIENCE", 0.5)
    monkeypatch.setattr("lmm_core.retrieve.answer.make_conversation.__defaults__", (True, None, 0.5))
    monkeypatch.chdir(course)
    with ModelServer(reply="The oak [1].") as model:
        far_end(model)
        answer = model.answer

        def late(body, key):
            if "`queries`" in body["messages"][0]["content"]:
                released.wait(4 * PATIENCE)
            return answer(body, key)

        model.answer = late
        out, told = lmm(f"ask '{VAGUE}'")
    assert "The oak [1]." in out
    assert re.search(rf"warning: {retriever.BY_QUESTION}: no answer in 0.5 s", told)


def test_the_tools_over_http_have_the_same_limits(course, monkeypatch):
    """`lmm mcp --http`: a connection that sends no request is ended there, too."""
    pytest.importorskip("mcp")
    from lmm_core.retrieve.agents.tools import Tools
    from lmm_core.retrieve.library import Library
    from lmm_core.serving.mcp_server import serve_http
    from lmm_core.settings.models import Models
    from lmm_core.settings.project import load_project

    monkeypatch.setattr(Connection, "asking", 0.3)
    told = []

    async def work():
        library = Library(load_project(course / "-"), Models())
        tools = Tools(library)
        serving = asyncio.create_task(serve_http(tools, "127.0.0.1", 0, told.append))
        while not told:
            await asyncio.sleep(0.02)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(re.search(r":(\d+)/", told[0])[1]))
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: ")
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionError):
                assert await reader.read() == b""
        writer.close()
        serving.cancel()
        await asyncio.wait([serving])
        await library.close()  # else the other tests of this process could not read the course

    asyncio.run(work())
