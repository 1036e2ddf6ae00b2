"""What a person or a server ends in the middle: the command ends too, says so, and leaves files as they were."""

import os
import signal
import time

import pytest

from tests.commands import text, write
from tests.effort import PATIENCE
from tests.indexing import lmm
from tests.llama.courses import NOTES, QUESTION, configure, let_go_on, start
from tests.llama_server import SOON
from tests.strategies import outside_metadata

pytestmark = pytest.mark.model


@pytest.fixture(autouse=True)
def _endless(monkeypatch):
    let_go_on(monkeypatch)


def index(server, max_tokens=1200):
    configure(server, max_tokens=max_tokens)
    write("notes.md", NOTES)
    lmm("index notes.md -q")


def begun(process):
    """The first bytes that a process prints."""
    return os.read(process.stdout.fileno(), 100)


def ended(process):
    """What a process has printed since, when it has ended."""
    out, err = process.communicate(timeout=PATIENCE)
    return out.decode(), err.decode()


# Ctrl-C


def test_ctrl_c_in_the_middle_of_an_answer(server):
    index(server)
    process = start("ask", "What is a residual?")
    first = begun(process)
    assert server.is_busy
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = ended(process)
    assert time.monotonic() - began < SOON
    assert process.returncode == 130 and first
    assert "Traceback" not in err
    assert server.is_idle_within(SOON)


@pytest.mark.parametrize(("command", "before"), [("chat", QUESTION), ("rag", NOTES)])
def test_ctrl_c_in_the_middle_of_work_on_a_file(server, command, before):
    configure(server, max_tokens=500)
    write("notes.md", before)
    process = start(command, "notes.md")
    wait_until(lambda: server.is_busy)
    process.send_signal(signal.SIGINT)
    _, err = ended(process)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert outside_metadata(text("notes.md")) == outside_metadata(before)
    assert server.is_idle_within(SOON)


def wait_until(happens):
    """Wait for something that comes where nothing is wrong."""
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.2)


# The server is killed


def test_the_server_dies_in_the_middle_of_an_answer(own_server):
    index(own_server)
    process = start("ask", "What is a residual?")
    first = begun(process)
    own_server.kill()
    out, err = ended(process)
    assert process.returncode == 1
    assert first + out.encode()  # what was shown stays
    assert "the connection broke off in the middle of the answer" in err
    assert "Traceback" not in err
