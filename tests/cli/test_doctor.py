"""What `lmm doctor` finds, and whether its advice helps."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lmm_core
from tests.commands import write
from tests.embedding_server import EmbeddingServer
from tests.indexing import lmm
from tests.model_server import ModelServer

CHECKOUT = Path(lmm_core.__file__).parents[1]
KEY = "sk-loopback-0123456789"


@pytest.fixture
def model(monkeypatch):
    with ModelServer(reply="yes", key=KEY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
        yield server


def online(status=0):
    """Return the lines of `lmm doctor --online` about what was asked."""
    shown = lmm("doctor --online", status)[0]
    assert KEY not in shown
    return [line for line in shown.splitlines() if re.match(r"..  (?:openai|online|ollama)\b", line)]


def test_each_model_is_asked_once_for_one_token(model, monkeypatch):
    (line,) = online()
    assert re.fullmatch(
        rf"ok  openai      openai/gpt-4o-mini: answered in \d+\.\d s at {model.url} \(major, minor, aux\)", line
    )
    assert [request["max_tokens"] for request in model.requests] == [1]
    monkeypatch.setenv("LMM_MODEL_AUX", "openai/small")
    assert [line.split("(")[1] for line in online()] == ["major, minor)", "aux)"]


def test_the_embedding_model_is_asked_for_one_vector(model, monkeypatch):
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "openai/text-embedding-3-small")
        monkeypatch.setenv("LMM_MODEL_MAJOR", "extractive/default")
        (line,) = online()
    assert "openai/text-embedding-3-small: answered in " in line and line.endswith("(embedding)")
    assert [request["input"] for request in server.requests] == [["one"]]


def test_a_proxy_that_cannot_be_used_does_not_end_it(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
    monkeypatch.setenv("LMM_STORAGE__URL", "https://qdrant.example:6333")
    shown = lmm("doctor --online", 1)[0]
    for what in ("index", "openai"):
        line = next(line for line in shown.splitlines() if line[4:].startswith(what))
        assert line.startswith("--") and "ALL_PROXY in the environment right?" in line


def test_a_refused_key_counts(model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    assert online(status=1) == [
        "--  openai      openai/gpt-4o-mini: the server refuses the key (401): check $OPENAI_API_KEY "
        "(major, minor, aux)"
    ]


def test_no_model_is_told_and_does_not_count():
    assert online() == ["..  online      no model on a server is configured, so none was asked"]


def test_a_model_that_is_named_and_has_no_key_counts(monkeypatch):
    monkeypatch.setenv("LMM_MODEL_MAJOR", "mistral/small")
    shown = lmm("doctor", 1)[0]
    assert "--  major       mistral/small: MISTRAL_API_KEY is not set\n" in shown
    assert "put the key into the environment, not into a file" in shown


def test_without_online_nobody_is_asked(model):
    lmm("doctor")
    assert model.count == 0


def test_what_is_optional_is_said():
    shown = lmm("doctor")[0].splitlines()
    assert shown[-1] == "nothing that is needed is missing; what is marked .. is optional"
    assert [line.split()[1] for line in shown if line.startswith("..")] == ["major", "aux", "embedding", "index"]


# Installed as pipx does it

TOOLS = ("ln", "mkdir", "sh")


@pytest.fixture
def home(tmp_path):
    """Return a home with our package in an environment of its own, and its command linked into `.local/bin`."""
    home = tmp_path / "a home"
    venv = home / ".local" / "share" / "pipx" / "venvs" / "lmm-markdown"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    places = {"base": str(venv), "platbase": str(venv)}
    site = Path(sysconfig.get_path("purelib", "venv", places))
    write(site / "ours.pth", f"{CHECKOUT}\n{sysconfig.get_path('purelib')}\n")
    write(venv / "pipx_metadata.json", "{}")
    script = write(venv / "bin" / "lmm", f"#!/bin/sh\nexec '{venv}/bin/python' -m lmm_core \"$@\"\n")
    script.chmod(0o755)
    (home / ".local" / "bin").mkdir()
    (home / ".local" / "bin" / "lmm").symlink_to(script)
    for tool in TOOLS:
        (home / "tools").mkdir(exist_ok=True)
        (home / "tools" / tool).symlink_to(shutil.which(tool))
    return home


def in_home(home, command, *folders):
    path = os.pathsep.join(str(home / folder) for folder in folders)
    environment = {**os.environ, "HOME": str(home), "PATH": path}
    return subprocess.run([home / "tools" / "sh", "-c", command], env=environment, capture_output=True, text=True)


def findings(home, *folders):
    shown = in_home(home, f"'{home}/.local/bin/lmm' doctor --json", *folders)
    return {finding["what"]: finding for finding in json.loads(shown.stdout)}, shown.returncode


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links, and a shell")
@pytest.mark.parametrize("on_path", [True, False])
def test_the_advice_about_pandoc_works_under_pipx(home, on_path):
    folders = ["tools", *([".local/bin"] if on_path else [])]
    found, status = findings(home, *folders)
    assert (found["pandoc"]["found"], status) == ("not on PATH", 1)
    advice = found["pandoc"]["advice"].partition(": ")[2]
    done = in_home(home, f"{advice} && pandoc --version", *folders)
    assert (done.returncode, done.stdout.split()[0]) == (0, "pandoc")
    assert (home / ".local" / "bin" / "pandoc").is_symlink()
    assert findings(home, ".local/bin")[0]["pandoc"]["ok"]
    assert found["lmm-rag"]["advice"] == "pandoc looks for it on PATH: pipx ensurepath"
