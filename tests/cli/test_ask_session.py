"""`lmm ask` in a session, in a process of its own: Ctrl-C stops an answer."""

import signal
import subprocess
import sys

import pytest

from tests.effort import PATIENCE
from tests.model_server import ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")]
REPLY = "Precisely: here the oak is explained [1]."


def read_until(stream, wanted):
    """What comes until it ends so."""
    got = ""
    while not got.endswith(wanted):
        sign = stream.read(1)
        assert sign, got
        got += sign
    return got


def test_ctrl_c_ends_the_request_to_the_model_and_keeps_what_was_said(course, monkeypatch):
    faults = iter(["stall", None])
    with ModelServer(reply=REPLY, fault=lambda *_: next(faults)) as model:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        monkeypatch.setenv("LMM_ASK__QUERIES", "keywords")
        session = subprocess.Popen(
            [sys.executable, "-m", "lmm_core", "ask"], cwd=course, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            print("How is the oak explained?", file=session.stdin, flush=True)
            read_until(session.stdout, "Precisely:")
            session.send_signal(signal.SIGINT)
            assert model.left.acquire(timeout=PATIENCE)
            read_until(session.stdout, "(stopped)\n")
            out, _ = session.communicate("Go on\n", PATIENCE)
        finally:
            session.kill()
        assert "here the oak is explained [1]" in out and session.returncode == 0
        said = [one["content"] for one in model.requests[1]["messages"] if one["role"] == "assistant"]
        assert said == ["Precisely:"]
