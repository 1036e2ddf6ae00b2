"""Pandocs to test with, and folders to test in."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.commands import copy_course, copy_folder, pandocs, write
from tests.courses import bilingual_book
from tests.indexing import EXERCISE, document, lmm
from tests.model_server import ModelServer
from tests.real_files import CORPORA, NO_CORPORA, SAMPLE
from tests.warm import search_path, start_server

# EXAMPLES=200 looks longer for examples; how long one takes depends on the machine
settings.register_profile("tests", max_examples=int(os.environ.get("EXAMPLES", "25")), deadline=None)
settings.load_profile("tests")
pytest.register_assert_rewrite("tests.routes")  # what it asserts is said in full

BOOK = Path(__file__).parents[1] / "sample-book"
RAM_DISK = Path("/dev/shm")
KEY = "sk-loopback-0123456789"
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # of a background job's parent; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
POSIX_ALONE = re.compile(r"^(import (fcntl|pty|resource)\b|from tests\.(windows|terminal|attacks\.killed_runs) )", re.M)


def pytest_ignore_collect(collection_path):
    """Leave out what Windows cannot even import; that it is left out is said by the count of tests alone."""
    if sys.platform == "win32" and collection_path.suffix == ".py":
        return bool(POSIX_ALONE.search(collection_path.read_text(encoding="utf-8"))) or None
    return None


def pytest_configure(config):
    """Start what all processes of pytest-xdist share: a RAM disk for the folders of the tests,
    and the server for our commands."""
    if hasattr(config, "workerinput") or sys.platform == "win32":
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
    _keep_to(tmp_path, monkeypatch)


def _keep_to(folder, monkeypatch):
    """Nothing sees the user's settings, keys, cached replies, and which keys may go where."""
    monkeypatch.setenv("PATH", f"{search_path()}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{folder}-user")  # the folder may be a project, where it would not count
    for name in list(os.environ):
        ours = name.startswith(("LMM_", "QUARTO_", "OPENAI_")) or name.endswith("_API_KEY")
        if ours and not name.startswith("LMM_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(params=pandocs(), ids=lambda path: Path(path).parent.name)
def pandoc(request):
    """Each pandoc that is there, the oldest that is supported first."""
    return request.param


@pytest.fixture(params=[SAMPLE, pytest.param(CORPORA, marks=pytest.mark.slow)], ids=lambda place: place.name)
def real_place(request):
    """A folder of real markdown: the sample, and the corpora if they are there."""
    if not request.param.is_dir():
        pytest.skip(NO_CORPORA)
    return request.param


@pytest.fixture
def model(monkeypatch, tmp_path):
    """A model's server that the environment names. Its key gets into no file."""
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


@pytest.fixture
def sample_book(tmp_path):
    """A copy of the sample book."""
    return copy_course(BOOK, tmp_path / "sample-book")


@pytest.fixture(scope="session")
def qdrant_server(tmp_path_factory):
    """The address of a real Qdrant server, without collections when the session begins."""
    from tests.qdrant_server import BINARY, NO_SERVER, URL, RealServer, collections_of

    if BINARY:
        with RealServer(tmp_path_factory.mktemp("qdrant")) as server:
            yield server.url
    elif URL:
        if there := collections_of(URL):
            pytest.exit(f"QDRANT_TEST_URL has collections ({', '.join(there)}), which the tests would remove")
        yield URL
    else:
        pytest.skip(NO_SERVER)


@pytest.fixture
def qdrant(qdrant_server):
    """The address of a real Qdrant server without collections."""
    from tests.qdrant_server import remove_collections

    yield qdrant_server
    remove_collections(qdrant_server)


@pytest.fixture(scope="session")
def index_once(tmp_path_factory):
    """A function that indexes a folder once a session; the tests work on copies, or read."""

    def index(folder):
        with pytest.MonkeyPatch.context() as patch:
            _keep_to(tmp_path_factory.mktemp("user"), patch)
            patch.chdir(folder)
            lmm("index . -q")
        return folder

    return index


@pytest.fixture(scope="session")
def _indexed_book(tmp_path_factory, index_once):
    return index_once(bilingual_book(tmp_path_factory.mktemp("book") / "sample-book"))


@pytest.fixture
def indexed_book(_indexed_book, tmp_path, monkeypatch):
    """A copy of the sample book with a German chapter, indexed, as the working folder."""
    book = copy_folder(_indexed_book, tmp_path / "sample-book")
    monkeypatch.chdir(book)
    return book


@pytest.fixture(scope="session")
def course(tmp_path_factory, index_once):
    """A course about trees, indexed: to be read."""
    folder = tmp_path_factory.mktemp("course")
    write(folder / "config.toml", "")
    write(folder / "trees.md", document("oak", "birch", header="title: Trees\ndocid: trees") + EXERCISE)
    return index_once(folder)


@pytest.fixture
def own_course(course):
    """A copy of it, to be changed."""
    return copy_folder(course, "course")
