"""`lmm serve`: the real server on loopback, asked over HTTP; the model's far end is a loopback server, too."""

import json
import re
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from lmm_core.course.site import STYLE
from lmm_core.indexing.collection import project_store
from lmm_core.quarto.extension import box_files as files_of_box
from lmm_core.serving import answers as serving_answers
from lmm_core.serving import app as serving_app
from lmm_core.serving.page import box_files, our_texts
from lmm_core.settings.project import load_project
from tests.commands import write
from tests.conftest import KEY
from tests.effort import PATIENCE
from tests.indexing import lmm, section
from tests.model_server import parts_of
from tests.serving import ASK, Served, command, events_in, said

SITE = "https://course.example.org"


# An answer


def test_an_answer_without_a_model_comes_with_its_sources(course):
    with Served(course) as served:
        response = served.client.post("/ask", json=ASK)
        events = events_in(response.text)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert [name for name, _ in events] == ["sources", "part", "done"]
    first = events[0][1]["sources"][0]
    assert (first["number"], first["titles"], first["anchor"]) == (1, ["Trees", "About oak"], "about-oak")
    assert re.fullmatch(r"trees\.md:\d+(-\d+)?", first["place"])
    assert said(events).startswith("**Trees › About oak** [1]\n\nHere the **oak** is explained")
    done = events[-1][1]
    assert done["answered"] and done["cited"][0] == 1 and done["by"] == "extractive/default"
    assert done["types"] == ["exercise"]


def test_a_model_is_streamed_and_knows_what_was_said_before(course, model):
    model.reply, model.pause = "The oak is explained [1]. So 🌳 it is [9].", 0.01
    history = [{"question": f"q{at}", "answer": f"a{at}"} for at in range(8)]
    with Served(course) as served:
        events = served.events(ASK | {"history": history})
    assert said(events) == "The oak is explained [1]. So 🌳 it is."
    assert len([name for name, _ in events if name == "part"]) > 3
    assert events[-1][1]["by"] == "openai/gpt-5.4-mini" and "[9]" in events[-1][1]["notes"][0]
    sent = [message["content"] for message in model.requests[0]["messages"]]
    assert "q1" not in sent and sent.index("q2") + 1 == sent.index("a2") and "a7" in sent


# A model that fails


def test_what_a_model_has_said_before_it_stopped_stays(course, model):
    model.answer = lambda body, key: (200, [*parts_of(body, "The oak is explained at length [1].")[:4], "break"])
    with Served(course) as served:
        events = served.events()
    assert said(events) == "The oak is "
    assert events[-1] == ("error", {"error": serving_answers.BROKEN})


def test_a_model_that_repeats_itself_is_stopped(course, model):
    model.reply = "The oak stands in the garden. " * 40
    with Served(course) as served:
        assert served.events()[-1] == ("error", {"error": serving_answers.STOPPED})


def test_a_model_that_fails_is_asked_again_for_the_next_question(course, model):
    model.key = "another"
    with Served(course) as served:
        text = served.client.post("/ask", json=ASK).text
        model.key = None
        assert said(served.events()) == "The oak is explained [1]."
    assert events_in(text)[-1] == ("error", {"error": serving_answers.NO_MODEL})
    assert not any(word in text for word in (KEY, "127.0.0.1", str(course), "Traceback"))
    log = "\n".join(served.log)
    assert "the server refuses the key (401): check $OPENAI_API_KEY" in log and KEY not in log


# Requests


def test_what_cannot_be_asked(course):
    wrong = [
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"question": " "}', 400, "empty"),
        (b'{"question": "x", "history": [1]}', 400, "history should hold"),
        (b'{"question": "x", "type": "poem"}', 400, "there is: exercise"),
        (json.dumps({"question": "x" * 10_000}).encode(), 413, "too long: it may have 2000 characters"),
        (b'{"question": "' + b"x" * 300_000 + b'"}', 413, "256 KB"),
    ]
    with Served(course) as served:
        for body, status, message in wrong:
            response = served.client.post("/ask", content=body)
            assert response.status_code == status and message in response.json()["error"]


@pytest.mark.parametrize("type", ["", "exercise"])
def test_the_text_of_an_exercise_comes_only_when_it_is_asked_for(type, course):
    with Served(course) as served:
        hits = served.client.get("/search", params={"q": "rings of the oak", "type": type, "k": "20"}).json()["hits"]
    is_shown = {(hit["types"] == ["exercise"], bool(hit["text"])) for hit in hits}
    assert is_shown == ({(True, True)} if type else {(True, False), (False, True)})


def test_a_body_is_held_to_its_limit_while_it_comes(course):
    sent = 0

    def parts():
        nonlocal sent
        for _ in range(40_000):
            sent += 1024
            yield b"x" * 1024

    with Served(course) as served, suppress(httpx.TransportError):  # it is answered before all is sent
        assert served.client.post("/ask", content=parts()).status_code == 413
    assert sent < 20_000_000


def test_what_is_not_there(course):
    addresses = {
        "/search": 400, "/search?q=x&k=500": 400, "/search?q=oak&type=poem": 400, "/ask": 405, "/nothing": 404,
        "/box/../../config.toml": 404, "//etc/passwd": 404,
    }  # fmt: skip
    with Served(course) as served:
        responses = {address: served.client.get(address) for address in addresses}
    assert {address: response.status_code for address, response in responses.items()} == addresses
    assert all(response.json()["error"] for response in responses.values())


def test_search_and_health(course):
    with Served(course) as served:
        found = served.client.get("/search", params={"q": "birch", "k": "1"}).json()
        health = served.client.get("/health").json()
    assert [hit["anchor"] for hit in found["hits"]] == ["about-birch"]
    assert health["status"] == "ok" and health["documents"] == 1 and health["types"] == ["exercise"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", health["indexed"])


# The teacher's texts


def test_the_server_says_of_itself_what_the_teacher_has_written(course):
    voice = {"title": "Trees & shrubs", "greeting": "Hello! What would you like to know?", "language": "de-CH"}
    with Served(course, max_question=20, **voice) as served:
        about = served.client.get("/about").json()
        refused = served.client.post("/ask", json={"question": "oak " * 9})
    ours, too_long = our_texts("de"), "Die Frage ist zu lang: Sie darf 20 Zeichen haben."
    assert voice.items() < about.items()
    assert (about["empty"], about["too_long"]) == (ours["empty"], too_long)
    assert (refused.status_code, refused.json()["error"]) == (413, too_long)


# Who may ask


def test_only_known_names_and_sites_are_answered(course):
    wanted = [
        ({"Host": "192.168.1.7:80"}, 200),
        ({"Host": "ask.example.org"}, 200),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Origin": SITE}, 200),
        ({"Host": "ask.example.org", "Origin": "https://ask.example.org"}, 200),
        ({"Origin": "https://course.example.org.evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ]
    with Served(course, origins=(SITE,), hosts=("ask.example.org",)) as served:
        for headers, status in wanted:
            response = served.client.get("/health", headers=headers)
            assert response.status_code == status, headers
            allowed = SITE if headers.get("Origin") == SITE else None
            assert response.headers.get("access-control-allow-origin") == allowed


def test_without_the_token_there_is_the_page_with_its_scripts_alone(course):
    with Served(course, token="opén sesame", files=box_files(box(), STYLE)) as served:
        statuses = {path: served.client.get(path).status_code for path in ("/", "/box/ask.js", "/health", "/nothing")}
        key = {"Authorization": "Bearer opén sesame".encode()}
        assert served.client.get("/health", headers=key).status_code == 200
    assert statuses == {"/": 200, "/box/ask.js": 200, "/health": 401, "/nothing": 401}
    assert "sesame" not in "\n".join(served.log)


def test_who_asks_too_often_is_asked_to_wait_and_only_a_proxy_can_say_who_asks(course):
    with Served(course, rate=1, proxies=("192.0.2.1",)) as served:
        answers = [served.client.post("/ask", json=ASK, headers={"X-Forwarded-For": f"192.0.2.{at}"}) for at in (7, 8)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert 1 <= int(answers[1].headers["Retry-After"]) <= 60
    with Served(course, rate=1) as served:  # by default, one on this machine
        answers = [served.client.post("/ask", json=ASK, headers={"X-Forwarded-For": f"192.0.2.{at}"}) for at in (7, 8)]
    assert [answer.status_code for answer in answers] == [200, 200]


def test_every_answer_has_headers_against_strange_scripts(course):
    with Served(course, origins=(SITE, "null"), files=box_files(box(), STYLE)) as served:
        found = [served.client.get(path).headers for path in ("/", "/health", "/nothing")]
        found.append(served.client.post("/ask", json=ASK).headers)
        found.append(served.client.get("/", headers={"Host": "evil.example"}).headers)
    for headers in found:
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self';") and policy.endswith(f"frame-ancestors 'self' {SITE}")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


# Many at once


def test_more_than_there_are_places_for_are_asked_to_wait_and_who_goes_away_makes_room(course, model, monkeypatch):
    monkeypatch.setattr(serving_app, "PATIENCE", 0.05)
    model.reply, model.pause = "word " * 500, 0.1
    with Served(course, concurrency=1) as served:
        with served.client.stream("POST", "/ask", json=ASK) as first:
            parts = first.iter_text()  # a reader that is given up closes the connection
            next(parts)
            second = served.client.post("/ask", json=ASK)
            assert (second.status_code, second.headers["Retry-After"]) == (429, "2")
        monkeypatch.setattr(serving_app, "PATIENCE", PATIENCE)
        with served.client.stream("POST", "/ask", json=ASK) as third:
            assert third.status_code == 200


@pytest.mark.slow
def test_stopping_an_answer_ends_the_request_to_the_model(course, model):
    """What a page does at its button: it closes the connection in the middle of the answer."""
    model.fault, model.reply = lambda body, number: "stall", "Part of the answer about the oak"
    with Served(course) as served, socket.create_connection(("127.0.0.1", served.port), PATIENCE) as reader:
        body = json.dumps(ASK).encode()
        head = f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        reader.sendall(head.encode() + body)
        got = b""
        while b"event: part" not in got:
            got += reader.recv(1 << 16)
        reader.close()
        assert model.left.acquire(timeout=PATIENCE)


# The index


def test_a_refresh_is_seen(own_course):
    with Served(own_course) as served:
        assert "elm" not in served.client.get("/search", params={"q": "elm"}).text.partition("hits")[2]
        with (own_course / "trees.md").open("a") as file:
            file.write("\n" + section("elm"))
        lmm(f"index {own_course} -q")
        assert "About elm" in served.client.get("/search", params={"q": "elm"}).text


def test_an_index_that_is_written_for_long_is_told(course, monkeypatch):
    monkeypatch.setattr(serving_answers.Answers.read, "__defaults__", (0.0,))
    store = project_store(load_project(course / "-"))
    with Served(course) as served:
        response = served.client.post("/ask", json=ASK)
        store.close()
        assert served.events()[-1][0] == "done"
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert response.json() == {"error": serving_answers.NOT_NOW}


def test_without_an_index_there_is_nothing_to_ask():
    write("empty/config.toml", "")
    with Served(Path("empty").resolve()) as served:
        response = served.client.post("/ask", json=ASK)
    assert (response.status_code, response.json()) == (503, {"error": serving_answers.EMPTY})
    assert "Nothing is indexed" in "\n".join(served.log)


# The log


def test_the_log_holds_nothing_personal(course):
    with Served(course, files=box_files(box(), STYLE)) as served:
        served.events()
        served.client.get("/search", params={"q": "my secret illness"})
        served.client.get("/my-secret-page")
    lines = [re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d (.+) \d+ ms", line)[1] for line in served.log]
    assert lines == ["POST /ask 200", "GET /search 200", "- 404"]


# The page


def box():
    """Files such as those of the box."""
    return {"ask.js": b"document.title = 'x';\n", "ask.css": b"body {}\n", "LICENSE.txt": b"MIT\n"}


def test_the_own_page_loads_its_files_and_has_no_script_inside(course):
    with Served(course, files=box_files(files_of_box(), STYLE)) as served:
        page = served.client.get("/")
        links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        links += [
            f"box/{name}"
            for name in re.findall(r'"([\w-]+\.(?:js|css))"', served.client.get("/box/ask.js").text)
            if name != "data.js"  # which only a site has
        ]
        assert {"box/opened.js", "box/markdown.js", "box/ask.css", "box/home.js"} <= set(links)
        files = [served.client.get(link) for link in links]
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert {file.status_code for file in files} == {200}
    assert {file.headers["content-type"] for file in files} == {
        "text/javascript; charset=utf-8",
        "text/css; charset=utf-8",
    }
    assert not re.search(r"<script[^>]*>[^<]|\son\w+=|style=", page.text)


def test_the_own_page_has_the_title_questions_and_contents_of_the_course(own_course):
    notes = (own_course / "trees.md").read_text()
    asking = notes.replace("# About oak", "---\nquestions: What is an oak?\n---\n\n# About oak")
    write(own_course / "trees.md", asking)
    lmm(f"index {own_course} -q")
    with Served(own_course, title='<script>alert("$title")</script>') as served:
        page = served.client.get("/").text
    assert 'class="lmm-example">What is an oak?</button>' in page and "<li>Trees</li>" in page
    assert "<h1>&lt;script&gt;alert(&quot;$title&quot;)&lt;/script&gt;</h1>" in page and page.count("<script") == 2
    with Served(own_course, token="sesame") as served:
        page = served.client.get("/").text
    assert page.count("<h1>") == 1 and "oak" not in page and "Trees" not in page


# The command


@pytest.mark.long
def test_told_to_stop_it_finishes_its_answers(course, model):
    model.reply, model.pause = "one two three four five six [1]", 0.2
    with (
        command(course) as (process, port),
        httpx.stream("POST", f"http://127.0.0.1:{port}/ask", json=ASK, timeout=PATIENCE) as answer,
    ):
        parts = answer.iter_text()
        text = next(parts)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/health")
        text += "".join(parts)
        assert said(events_in(text)) == "one two three four five six [1]" and events_in(text)[-1][0] == "done"
        process.wait(PATIENCE)


def test_what_keeps_it_from_starting_is_told(own_course, monkeypatch):
    monkeypatch.chdir(own_course)
    assert "the source 'nobody' is unknown" in lmm("serve --model nobody/x", status=1)[1]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        stderr = lmm(f"serve --port {port}", status=1)[1]
        assert f"cannot listen on 127.0.0.1, port {port}: Address already in use\n" in stderr
    write(
        "config.toml", "[serve]\norigins = ['course.example.org']\nhosts = ['http://x']\nproxies = ['me']\nrate = 0\n"
    )
    stderr = lmm("serve", status=2)[1]
    assert all(f"`serve.{key}`" in stderr for key in ("origins", "hosts", "proxies", "rate"))
