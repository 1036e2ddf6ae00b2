"""Pandocs to test with, and folders to test in."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.commands import pandocs
from tests.indexing import lmm
from tests.warm import search_path, start_server

pytest.register_assert_rewrite("tests.routes")  # what it asserts is said in full

SHARED = Path(__file__).parents[2] / "shared"
RAM_DISK = Path("/dev/shm")


def pytest_configure(config):
    """Start what all processes of pytest-xdist share: a RAM disk for the folders of the tests,
    and the server for our commands."""
    if hasattr(config, "workerinput"):
        return
    if "TMPDIR" not in os.environ and _is_roomy(RAM_DISK):
        os.environ["TMPDIR"] = tempfile.tempdir = str(RAM_DISK)
    folder = tempfile.mkdtemp(prefix="lmm-warm-")
    server = start_server(Path(folder))

    def end():
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder)

    config.add_cleanup(end)


def _is_roomy(folder):
    """Tell whether a folder has 4 GB free and may hold programs; in a container it often may not."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= 4 << 30 and not found.f_flag & os.ST_NOEXEC


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
    monkeypatch.setenv("PATH", f"{search_path()}{os.pathsep}{os.environ['PATH']}")
    for name in list(os.environ):
        if name.startswith(("LMM_", "QUARTO_")) and not name.startswith("LMM_TEST_"):
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


@pytest.fixture
def corpora():
    """Real markdown; the product does not depend on it."""
    folder = SHARED / "corpora"
    if not folder.is_dir():
        pytest.skip("no corpora beside the repository")
    return folder


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
