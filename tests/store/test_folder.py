"""A folder: what is written stays there, whatever ends the process."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from lmm_core.errors import StoreError
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store import folder_files, folder_lock
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.vector_store import Search
from tests.store.points import (
    INDEXES,
    SPEC,
    TYPES,
    ids,
    key,
    near,
    point,
    random_points,
)  # fmt: skip


@pytest.fixture
def store(tmp_path):
    """A folder with the empty collection `notes`, which is closed when the test ends."""
    store = opened(tmp_path)
    store.create("notes", SPEC, {"a": 1}, INDEXES)
    yield store
    store.close()


def opened(tmp_path, **options):
    return open_store(LocalStorage(tmp_path / "index"), **options)


def test_what_was_written_is_there_when_opened_again(store, tmp_path):
    store.upsert("notes", random_points(300))
    store.close()
    again = opened(tmp_path)
    assert (again.metadata("notes"), again.count("notes")) == ({"a": 1}, 300)
    assert again.facet("notes", "type").keys() == set(TYPES)
    again.close()


def run(code, folder, **options):
    """Start Python in another process, in which tests can be imported."""
    where = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": where}, **options
    )


def test_a_folder_in_use_is_one_sentence(store, tmp_path, monkeypatch):
    holds = "import sys\nfrom lmm_core.store.places import *\nstore = open_store(LocalStorage(sys.argv[1]))\n"
    store.close()
    with run(holds + "print('open', flush=True)\nsys.stdin.read()", tmp_path / "index", stdin=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(StoreError, match=f"in use by another process .pid {other.pid}.. Try again"):
            open_store(LocalStorage(tmp_path / "index"))
        other.kill()
    monkeypatch.setattr(folder_lock, "WAIT", 0.1)
    store = open_store(LocalStorage(tmp_path / "index"))
    with pytest.raises(StoreError, match="already open in this program"):
        open_store(LocalStorage(tmp_path / "index"))
    store.close()
    open_store(LocalStorage(tmp_path / "index")).close()


# What cannot be read or written


@pytest.mark.parametrize(
    ("what", "data", "said"),
    [
        ("notes/collection.json", b"{", r"collection.json .*\. Remove .*notes and index again"),
        ("segment.json", b"garb\0age", r"'notes' in .* is damaged \(.*\). Remove .*notes and index again"),
    ],
)
def test_a_damaged_collection_says_what_to_do(store, tmp_path, what, data, said):
    store.upsert("notes", random_points(50))
    store.close()
    for path in (tmp_path / "index").rglob(what):
        path.write_bytes(data)
    again = opened(tmp_path)
    with pytest.raises(StoreError, match=said):
        again.count("notes")
    again.close()


def test_a_collection_without_its_record_is_not_there(store, tmp_path):
    """It was half made, or half removed."""
    store.upsert("notes", [point(1)])
    store.close()
    (tmp_path / "index" / "notes" / "collection.json").unlink()
    again = opened(tmp_path)
    assert again.collections() == []
    again.create("notes", SPEC, {}, INDEXES)
    assert again.count("notes") == 0
    again.close()


def test_a_full_disk_is_noticed_before_the_engine_does(store, monkeypatch):
    """The engine writes through memory maps: on a full disk the process would be killed."""
    store.upsert("notes", [point(1)])
    monkeypatch.setattr(folder_files, "SPARE", 10**18)
    for use in (lambda: store.upsert("notes", [point(2)]), lambda: store.delete("notes", [key(1)])):
        with pytest.raises(StoreError, match=r"Only [\d,]+ MB are free on the disk of .*\. Make room and run this"):
            use()
    assert store.count("notes") == 1


def test_a_folder_that_cannot_be_written_to_is_read_from_a_copy(store, tmp_path, monkeypatch):
    store.upsert("notes", random_points(30))
    store.close()
    store = opened(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # for root, every folder can be written to
    copy = opened(tmp_path, reads=True)  # beside the one that has the lock
    search = Search({"content": near(1)}, 3)
    assert copy.count("notes") == 30
    assert copy.search("notes", search) == store.search("notes", search)
    copy.close()
    assert copy.folder != store.folder and not copy.folder.exists()


def test_a_folder_can_be_used_by_many_threads(store):
    def work(n):
        store.upsert("notes", [point(n, words=[n])])
        return ids(store.search("notes", Search({"words": Sparse([n], [1.0])}, 1)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 20))) == [[n] for n in range(1, 20)]
