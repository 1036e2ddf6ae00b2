"""A closed collection's files are cut to their data, and are whole again when it is opened."""

import json
import os

import pytest

from lmm_core.errors import StoreError
from lmm_core.store import edge_store
from lmm_core.store import sparse_files as holes
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.sparse_files import HOLE, cut_holes, put_back_holes
from tests.store.points import INDEXES, SPEC, point

DATA = b"data" * 1000
LONG = 32 * 1024 * 1024


@pytest.fixture(params=["told of holes", "not told"])
def collection(request, tmp_path, monkeypatch):
    """A collection's folder with a file that ends with a hole, and one that does not."""
    if request.param == "not told":
        monkeypatch.delattr(os, "SEEK_HOLE", raising=False)
    (tmp_path / "shard" / "wal").mkdir(parents=True)
    (tmp_path / "shard" / "whole").write_bytes(DATA * 100)
    with (tmp_path / "shard" / "wal" / "open-1").open("wb") as file:
        file.write(DATA)
        file.truncate(LONG)
    os.utime(tmp_path / "shard" / "wal" / "open-1", ns=(10**18, 10**18 + 7))
    return tmp_path


def contents(folder):
    """The bytes of each file, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def log(collection):
    return collection / "shard" / "wal" / "open-1"


def test_a_hole_is_cut_and_put_back(collection):
    before = contents(collection / "shard")
    cut_holes(collection)
    assert len(DATA) <= log(collection).stat().st_size < len(DATA) + HOLE
    assert (collection / "shard" / "whole").read_bytes() == DATA * 100
    put_back_holes(collection)
    assert contents(collection / "shard") == before
    assert log(collection).stat().st_mtime_ns == 10**18 + 7


def test_a_file_that_was_changed_since_stays_as_it_is(collection):
    cut_holes(collection)
    log(collection).write_bytes(b"written since")
    put_back_holes(collection)
    assert log(collection).read_bytes() == b"written since"


def test_the_record_is_on_the_disk_before_the_first_cut(collection, monkeypatch):
    before = contents(collection / "shard")

    def end(path, length):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(holes, "_set_length", end)
        cut_holes(collection)
    assert json.loads((collection / "lengths.json").read_bytes())["shard/wal/open-1"][1] == LONG
    put_back_holes(collection)
    assert contents(collection / "shard") == before


@pytest.mark.parametrize(
    "record",
    [
        b"\xff",
        b'{"shard/whole": [400000, true]}',
        b'{"shard/whole": [400000, 99999999999999999]}',
        b'{"../outside": [4, 9], "/outside": [4, 9], "shard/../../outside": [4, 9], "shard/gone": [4, 9]}',
    ],
)
def test_a_forged_or_damaged_record_changes_nothing(tmp_path, record):
    (tmp_path / "collection" / "shard").mkdir(parents=True)
    (tmp_path / "collection" / "shard" / "whole").write_bytes(DATA * 100)
    (tmp_path / "outside").write_bytes(b"mine")
    (tmp_path / "collection" / "lengths.json").write_bytes(record)
    before = contents(tmp_path)
    put_back_holes(tmp_path / "collection")
    assert contents(tmp_path) == before


# In the store


def fill(folder):
    store = open_store(LocalStorage(folder))
    store.create("notes", SPEC, {"model": "m"}, INDEXES)
    store.upsert("notes", [point(n, words=[n % 7]) for n in range(30)])
    store.close()
    return folder


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_an_index_whose_holes_cannot_be_cut_is_closed_all_the_same(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(edge_store, "cut_holes", fail)
        folder = fill(tmp_path / "index")
    assert size(folder) > 1_000_000 > size(fill(tmp_path / "other"))
    store = open_store(LocalStorage(folder))
    with monkeypatch.context() as patched:
        patched.setattr(edge_store, "put_back_holes", fail)
        with pytest.raises(StoreError, match=r"'notes' in .* cannot be opened: No space left on device"):
            store.count("notes")
    assert store.count("notes") == 30
    store.close()
