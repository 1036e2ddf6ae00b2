"""What is kept beside a collection is gone as soon as the collection changes, however that ends."""

import os
import sys

import pytest

from lmm_core.store import edge_store, kept_files
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store.vector_store import KeepingStore, revision_of
from tests.store.points import INDEXES, SPEC, key, point
from tests.store.test_stores import run

MADE = b"made of all points" * 100


@pytest.fixture
def store(tmp_path):
    opened = open_store(LocalStorage(tmp_path / "index"))
    opened.create("notes", SPEC, {}, INDEXES)
    opened.upsert("notes", [point(n) for n in range(1, 9)])
    yield opened
    opened.close()


def keep(store, under="a", made=MADE):
    store.keep("notes", under, made, revision_of(store))


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "index" / "notes").glob("*kept-*"))


def reopened(store):
    store.close()
    return open_store(LocalStorage(store.folder))


def test_what_is_kept_is_found_again_under_its_key_alone(store):
    keep(store)
    store = reopened(store)
    assert (store.recall("notes", "a"), store.recall("notes", "b")) == (MADE, None)
    store.close()


CHANGES = {
    "written": lambda store: store.upsert("notes", [point(9)]),
    "written anew": lambda store: store.upsert("notes", [point(1)]),
    "payload": lambda store: store.set_payload("notes", {key(1): {"n": 1}}),
    "removed": lambda store: store.delete("notes", [key(1)]),
    "dropped": lambda store: store.drop("notes"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_is_kept_of_a_collection_that_changed(store, tmp_path, change):
    keep(store)
    keep(store, "b")
    change(store)
    assert (store.recall("notes", "a"), kept(tmp_path)) == (None, [])


def test_what_was_made_before_a_change_is_not_kept_after_it(store, tmp_path):
    revision = revision_of(store)
    store.upsert("notes", [point(9)])
    store.keep("notes", "a", MADE, revision)
    store.keep("notes", "a", MADE, None)
    assert kept(tmp_path) == []


def test_a_change_in_another_collection_is_none(store):
    store.create("others", SPEC, {}, {})
    keep(store)
    store.upsert("others", [point(1)])
    assert store.recall("notes", "a") == MADE


@pytest.mark.parametrize("write", ["upsert('notes', [point(3)])", "delete('notes', [key(3)])"])
def test_it_is_gone_before_the_first_change_of_a_process_that_is_killed(store, tmp_path, write):
    keep(store)
    store.close()
    code = (
        "import os, sys\nfrom lmm_core.store import edge_store\nfrom lmm_core.store.opening import *\n"
        "from tests.store.points import *\nstore = open_store(LocalStorage(sys.argv[1]))\n"
        "edge_store.EdgeStore._check_room = lambda *_: os.kill(os.getpid(), 9)\n"  # called before the engine is
        f"store.{write}"
    )
    with run(code, tmp_path / "index") as killed:
        killed.communicate(timeout=60)
    assert (killed.returncode, kept(tmp_path)) == (-9, [])


def test_its_removal_survives_a_power_cut(store, monkeypatch):
    synced = []
    monkeypatch.setattr(kept_files, "sync_folder", lambda folder: synced.append(folder.name))
    keep(store)
    store.upsert("notes", [point(9)])
    store.upsert("notes", [point(10)])  # there is nothing to remove any more, and nothing to wait for
    assert synced == ["notes"]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:50] + b"!" + data[51:], lambda data: b""]
)
def test_what_is_not_whole_counts_as_nothing(store, tmp_path, damage):
    keep(store)
    path = tmp_path / "index" / "notes" / "kept-a"
    path.write_bytes(damage(path.read_bytes()))
    assert store.recall("notes", "a") is None


def test_the_oldest_make_room(store, tmp_path):
    for at, name in enumerate("abc"):
        keep(store, name)
        os.utime(tmp_path / "index" / "notes" / f"kept-{name}", ns=(at, at))
    assert kept(tmp_path) == ["kept-b", "kept-c"]
    keep(store, "c", b"other")
    assert (kept(tmp_path), store.recall("notes", "c")) == (["kept-b", "kept-c"], b"other")


def test_a_disk_that_is_full_or_not_writable_fails_nothing(store, tmp_path, monkeypatch):
    monkeypatch.setattr(edge_store, "SPARE", 1 << 60)
    keep(store)
    monkeypatch.undo()
    (tmp_path / "index" / "notes" / "kept-a").mkdir()  # what cannot be replaced
    keep(store)
    assert store.recall("notes", "a") is None
    (tmp_path / "index" / "notes" / "kept-a").rmdir()


def test_what_a_killed_run_left_is_removed_with_the_rest(store, tmp_path):
    folder = tmp_path / "index" / "notes"
    (folder / ".kept-a.lmm-0123456789abcdef.tmp").write_bytes(b"half")
    store.upsert("notes", [point(9)])
    assert kept(tmp_path) == []
    (folder / ".kept-a.lmm-0123456789abcdef.tmp").write_bytes(b"half")
    store.drop("notes")
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="an open folder cannot be moved")
def test_a_folder_that_was_made_anew_by_another_process_is_left_alone(store, tmp_path):
    (tmp_path / "index").rename(tmp_path / "old")
    other = open_store(LocalStorage(tmp_path / "index"))
    other.create("notes", SPEC, {}, {})
    keep(store)
    assert (kept(tmp_path), store.recall("notes", "a")) == ([], None)
    other.close()


def test_a_server_and_memory_keep_nothing(store):
    assert isinstance(store, KeepingStore)
    assert not isinstance(open_store(":memory:"), KeepingStore)
