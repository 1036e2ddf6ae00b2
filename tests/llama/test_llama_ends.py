"""What a person or a server ends in the middle: the command ends too, says so, and leaves files as they were."""

import os
import signal
import socket
import time

import pytest

from tests.commands import text, write
from tests.effort import PATIENCE
from tests.indexing import lmm
from tests.llama.courses import MODEL, NOTES, QUESTION, configure, let_go_on, start
from tests.llama.test_llama_rag import assert_fit_for_students, failures
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


def test_ctrl_c_in_the_middle_of_a_chat(server):
    configure(server, max_tokens=1200)
    write("notes.md", QUESTION)
    process = start("chat", "notes.md")
    wait_until(lambda: server.is_busy)
    process.send_signal(signal.SIGINT)
    _, err = ended(process)
    assert (process.returncode, text("notes.md")) == (130, QUESTION)
    assert "Traceback" not in err
    assert server.is_idle_within(SOON)


def test_ctrl_c_in_the_middle_of_annotating(server):
    configure(server, max_tokens=500)
    write("notes.md", NOTES)
    process = start("rag", "notes.md")
    wait_until(lambda: server.is_busy)
    process.send_signal(signal.SIGINT)
    _, err = ended(process)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)
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


def test_the_server_dies_while_it_annotates(own_server):
    configure(own_server, max_tokens=500)
    write("notes.md", NOTES)
    process = start("rag", "notes.md")
    wait_until(lambda: own_server.is_busy)
    own_server.kill()
    _, err = ended(process)
    assert process.returncode == 1
    assert "sections not annotated: llamacpp/" in err and "cannot be reached. Is the server running?" in err
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)


class Nowhere:
    """The address of a server that is not there."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@pytest.mark.parametrize("command", ["rag notes.md", "chat notes.md", "ask 'What is a residual?'"])
def test_a_server_that_is_not_up_yet(command):
    nowhere = Nowhere()
    configure(nowhere)
    write("notes.md", QUESTION)
    lmm("index notes.md -q")
    _, err = lmm(command, status=1)
    assert f"{nowhere.url} cannot be reached. Is the server running?" in err


# Time


def test_a_time_out_while_the_model_computes(server):
    configure(server, max_tokens=900, timeout=0.5)
    write("notes.md", NOTES)
    _, err = lmm("rag notes.md", status=1)
    assert failures(err, "notes.md")
    assert "the server has not answered within 0.5 s: allow it more (timeout in config.toml)" in err
    assert outside_metadata(text("notes.md")) == outside_metadata(NOTES)
    assert server.is_idle_within(SOON)


def test_two_runs_at_once_on_a_server_that_answers_one_at_a_time(server):
    configure(server, max_tokens=20, timeout=300)
    runs = []
    for name in ("one.md", "two.md"):
        write(name, NOTES.replace("docid: lm", f"docid: {name}"))
        runs.append(start("rag", "--jobs", "4", name))
    for name, process in zip(("one.md", "two.md"), runs, strict=True):
        _, err = process.communicate(timeout=5 * PATIENCE)
        assert process.returncode in (0, 1), err
        assert process.returncode == bool(failures(err.decode(), name))
        assert outside_metadata(text(name)) == outside_metadata(NOTES)
        assert_fit_for_students(text(name))


# What doctor sees


def test_the_doctor_finds_the_server(server):
    configure(server)
    out, _ = lmm("doctor --online")
    assert MODEL in out
