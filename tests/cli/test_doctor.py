"""What `lmm doctor` finds, and whether its advice helps."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lmm_core
from tests.commands import BIN, run, write
from tests.conftest import KEY
from tests.embedding_server import EmbeddingServer
from tests.indexing import lmm

CHECKOUT = Path(lmm_core.__file__).parents[1]


@pytest.fixture
def model(model, monkeypatch):
    model.reply = "yes"
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
    return model


def online(status=0):
    """Return the lines of `lmm doctor --online` about what was asked."""
    shown = lmm("doctor --online", status)[0]
    assert KEY not in shown
    return [line for line in shown.splitlines() if re.match(r"..  (?:openai|online|ollama)\b", line)]


def test_each_model_is_asked_once_for_one_token(model, monkeypatch):
    model.key = KEY
    (line,) = online()
    answered = rf"ok  openai      openai/gpt-5.4-mini: answered in \d+\.\d s at {model.url} \(major, minor, aux\)"
    assert re.fullmatch(answered, line)
    assert [request["max_tokens"] for request in model.requests] == [1]
    monkeypatch.setenv("LMM_MODEL_AUX", "openai/small")
    assert [line.split("(")[1] for line in online()] == ["major, minor)", "aux)"]
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    refused = "openai/gpt-5.4-mini: the server refuses the key (401): check $OPENAI_API_KEY (major, minor)"
    assert online(status=1)[0] == f"--  openai      {refused}"


def test_the_embedding_model_is_asked_for_one_vector(model, monkeypatch):
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "openai/text-embedding-3-small")
        monkeypatch.setenv("LMM_MODEL_MAJOR", "extractive/default")
        (line,) = online()
    assert "openai/text-embedding-3-small: answered in " in line and line.endswith("(embedding)")
    assert [request["input"] for request in server.requests] == [["one"]]


def test_a_model_that_is_named_and_has_no_key_counts(monkeypatch):
    monkeypatch.setenv("LMM_MODEL_MAJOR", "mistral/small")
    shown = lmm("doctor", 1)[0]
    assert "--  major       mistral/small: MISTRAL_API_KEY is not set\n" in shown
    assert "put the key into the environment, not into a file" in shown


def test_what_is_optional_is_said_and_nobody_is_asked(model, monkeypatch):
    assert "minor       openai/gpt-5.4-mini: OPENAI_API_KEY is set" in lmm("doctor")[0]
    assert model.count == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("LMM_MODEL_EMBEDDING")
    shown = lmm("doctor")[0].splitlines()
    assert shown[-1] == "nothing is missing; lines marked .. are optional"
    assert [line.split()[1] for line in shown if line.startswith("..")] == ["major", "aux", "embedding", "index"]
    assert online() == ["..  online      no model on a server is configured, so none was asked"]
    done = run(f"'{BIN}/lmm' doctor --json", env={"PATH": "/nowhere"})
    pandoc = next(finding for finding in json.loads(done.stdout) if finding["what"] == "pandoc")
    assert (done.returncode, pandoc["ok"], pandoc["optional"]) == (0, False, True)
    assert "lmm doctor --link" in pandoc["advice"]


# Installed as pipx does it


@pytest.fixture
def home(tmp_path):
    """Return a home with our package in an environment of its own, and its commands linked into `.local/bin`."""
    home = tmp_path / "a home"
    venv = home / ".local" / "share" / "pipx" / "venvs" / "lmm-markdown"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    places = {"base": str(venv), "platbase": str(venv)}
    site = Path(sysconfig.get_path("purelib", "venv", places))
    write(site / "ours.pth", f"{CHECKOUT}\n{sysconfig.get_path('purelib')}\n")
    write(venv / "pipx_metadata.json", "{}")
    (home / ".local" / "bin").mkdir()
    # As pip writes it where the folder's name has a blank
    start = f"#!/bin/sh\n'''exec' '{venv}/bin/python' \"$0\" \"$@\"\n' '''\n"
    for name, module in {"lmm": "lmm_core.cli", "lmm-knit": "filters.lmm_knit"}.items():
        write(venv / "bin" / name, f"{start}from {module} import main\nmain()\n").chmod(0o755)
        (home / ".local" / "bin" / name).symlink_to(venv / "bin" / name)
    return home


def in_home(home, *words, on_path=False):
    path = os.pathsep.join([*([str(home / ".local" / "bin")] if on_path else []), "/nowhere"])
    environment = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8"}
    return subprocess.run(words, env=environment, cwd=home, capture_output=True, text=True)


def doctor_on_pandoc(home, **options):
    done = in_home(home, home / ".local" / "bin" / "lmm", "doctor", "--json", **options)
    return next(finding for finding in json.loads(done.stdout) if finding["what"] == "pandoc")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links, and a shell")
@pytest.mark.parametrize("on_path", [True, False])
def test_the_packaged_pandoc_is_run_and_linked(home, on_path):
    lmm, place = home / ".local" / "bin" / "lmm", home / ".local" / "bin" / "pandoc"
    write(home / "notes.md", "# A\n\nText.\n\n::: exercise\nSECRET\n:::\n")
    done = in_home(home, lmm, "pandoc", "-F", "lmm-knit", "notes.md", "-t", "plain", on_path=on_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "A\n\nText.\n", "")

    assert not doctor_on_pandoc(home)["ok"]
    for _ in range(2):
        linked = in_home(home, lmm, "doctor", "--link", on_path=on_path)
        assert (linked.returncode, f"linked: {place} -> " in linked.stderr) == (0, True)
        assert ("export PATH=" in linked.stderr) is not on_path
    assert in_home(home, place, "--version").stdout.startswith("pandoc ")
    assert doctor_on_pandoc(home, on_path=True)["ok"]

    place.unlink()
    write(place, "another program")
    refused = in_home(home, lmm, "doctor", "--link")
    assert (refused.returncode, place.read_text()) == (1, "another program")
    assert "was left alone" in refused.stderr
