"""Pandocs to test with, and folders to test in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import BIN, pandocs
from tests.indexing import lmm
from tests.real_files import CORPORA, NO_CORPORA, PLACES

pytest.register_assert_rewrite("tests.routes")  # what it asserts is said in full


def pytest_report_header():
    """Say which pandocs the tests run with."""
    return [
        f"pandoc: {subprocess.run([p, '--version'], capture_output=True, text=True).stdout.split()[1]} ({p})"
        for p in pandocs()
    ]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """Every test starts in a folder of its own, with our commands on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    for name in list(os.environ):
        if name.startswith(("LMM_", "QUARTO_")) and name != "LMM_TEST_PANDOCS":
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_models(tmp_path, monkeypatch):
    """No test sees the user's keys, cached replies, and which keys may go where."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(
        "XDG_CONFIG_HOME", f"{tmp_path}-user"
    )  # the working folder may be a project, where it would not count
    for name in list(os.environ):
        if name.startswith("OPENAI_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


@pytest.fixture(params=pandocs(), ids=lambda path: Path(path).parent.name)
def pandoc(request):
    """Each pandoc that is there, the oldest that is supported first."""
    return request.param


def pytest_terminal_summary(terminalreporter):
    """Say it if the tests on real files had the sample alone."""
    if not CORPORA.is_dir():
        terminalreporter.write_line(NO_CORPORA)


@pytest.fixture(params=PLACES, ids=lambda place: place.name)
def real_place(request):
    """A folder of real markdown: the sample, and the corpora if they are there."""
    if not request.param.is_dir():
        pytest.skip(NO_CORPORA)
    return request.param


@pytest.fixture
def sample_book(tmp_path):
    """A copy of the sample book."""
    return Path(shutil.copytree(Path(__file__).parents[1] / "sample-book", tmp_path / "sample-book"))


@pytest.fixture
def indexed_book(sample_book, monkeypatch):
    """The sample book, indexed, as the working folder."""
    monkeypatch.chdir(sample_book)
    lmm("index . -q")
    return sample_book


assert sys.version_info >= (3, 11)
