"""`lmm serve --workers`: several processes on one socket, with an index on a server."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest

from tests.effort import PATIENCE, wait_for
from tests.indexing import lmm


@contextmanager
def serving(folder, *options):
    """A server with its address and what it says."""
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    log = folder / "serve.log"
    with log.open("w") as file:
        command = [sys.executable, "-m", "lmm_core", "serve", "--port", "0", *options]
        process = subprocess.Popen(command, cwd=folder, stderr=file, env=env)
    try:
        address = wait_for(lambda: re.search(r"at (http\S+)/", log.read_text()))[1]
        yield process, address, log
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)


def workers(process):
    """The processes that serve: multiprocessing has one more, which serves nothing."""
    found = []
    for one in psutil.Process(process.pid).children():
        with suppress(psutil.Error):  # it has just ended
            found += [one] if "spawn_main" in " ".join(one.cmdline()) else []
    return found


def got(address, path="/search?q=oak"):
    try:
        with urlopen(Request(address + path), timeout=PATIENCE) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        return error.code, {}


@pytest.fixture
def served(own_course, monkeypatch, qdrant):
    """The course, indexed on a server."""
    monkeypatch.setenv("LMM_STORAGE__URL", qdrant)
    lmm(f"index -q {own_course}")
    return own_course


@pytest.mark.slow
@pytest.mark.qdrant
def test_two_workers_answer_and_one_that_dies_is_replaced(served):
    with serving(served, "--workers", "2") as (process, address, log):
        assert got(address)[1]["hits"]
        assert got(address, "/health")[1]["indexed"]
        before = wait_for(lambda: len(found := workers(process)) == 2 and found)
        before[0].kill()
        wait_for(lambda: len(workers(process)) == 2 and before[0] not in workers(process))
        for _ in range(5):
            assert got(address)[0] == 200
        said = log.read_text()
        assert said.count("; at http") == 1 and "; 2 workers" in said and said.count("1 document, ") == 1
        started = workers(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert not any(one.is_running() for one in started)
        assert "Traceback" not in log.read_text()


def test_an_index_in_a_folder_has_one_process(own_course, monkeypatch):
    monkeypatch.chdir(own_course)
    said = lmm("serve --workers 2", status=2)[1]
    assert "--workers 2 needs an index on a Qdrant server" in said and "can be open in one process only" in said
