"""`lmm ask` and `lmm serve` with a real model: answers in parts, with their sources, and an end to each."""

import json
import re

import pytest

from tests.commands import write
from tests.indexing import lmm
from tests.llama.courses import MODEL, NOTES, configure, let_go_on, let_say
from tests.llama_server import SOON
from tests.serving import Served, said

pytestmark = pytest.mark.model
SAID = "A residual is the difference between an observed value and the value that the model predicts [1]."
ASKED = {"question": "What is a residual?"}


@pytest.fixture
def notes(server, tmp_path):
    """An indexed course whose model is the server's."""
    configure(server)
    write("notes.md", NOTES)
    lmm("index notes.md -q")
    return tmp_path


def test_an_answer_with_its_source(notes, monkeypatch):
    let_say(monkeypatch, SAID)
    out, _ = lmm("ask 'What is a residual?'")
    assert out.startswith(SAID)
    assert re.search(r"^\[1\] .*Residuals.*notes\.md:\d+", out, re.M)
    answer = json.loads(lmm("ask --json 'What is a residual?'")[0])
    assert (answer["answer"], answer["by"], answer["cited"]) == (SAID, MODEL, [1])


def test_that_the_notes_do_not_answer(notes, monkeypatch):
    let_say(monkeypatch, "NO_ANSWER The notes say nothing of soil.")
    out, _ = lmm("ask 'Which soil do oaks like?'")
    assert "The notes do not answer this." in out


def test_an_answer_without_a_grammar_ends_and_is_no_echo(notes):
    """Whatever it says: it is cut off at its limit, or stopped, or cites nothing."""
    out, err = lmm("ask 'What is a residual?'", status=1)
    assert "the answer was stopped" in err or "the reply was cut off" in err
    assert not re.search(r"</?(source|notes|question)\b|im_start", out)


def test_an_answer_over_http_comes_in_parts(notes, monkeypatch):
    let_say(monkeypatch, SAID)
    with Served(notes) as served:
        events = served.events(ASKED)
    assert said(events) == SAID
    assert len([name for name, _ in events if name == "part"]) > 3
    assert events[-1][0] == "done" and events[-1][1]["by"] == MODEL and events[-1][1]["cited"] == [1]


def test_an_answer_that_nobody_waits_for_or_takes_too_long_is_ended(notes, server, monkeypatch):
    let_go_on(monkeypatch)
    configure(server, max_tokens=1200)
    with Served(notes, timeout=4.0) as served:
        with served.client.stream("POST", "/ask", json=ASKED) as response:
            heard, parts = "", response.iter_text()
            while "event: part" not in heard:
                heard += next(parts)
            assert server.is_busy
        assert server.is_idle_within(SOON)
        assert served.events(ASKED)[-1][0] == "error"
    assert server.is_idle_within(SOON)
