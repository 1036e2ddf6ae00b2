"""Of what is kept beside a collection it is known which points have changed since, however a run ended."""

import os
import sys

import pytest

from lmm_core.errors import StoreError
from lmm_core.store.folder import kept_files, room
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


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "index" / "notes"


def keep(store, under="a", made=MADE):
    store.keep("notes", under, made, revision_of(store))


def kept(folder):
    return sorted(path.name for path in folder.glob("*kept-*"))


def reopened(store):
    store.close()
    return open_store(LocalStorage(store.folder))


def test_what_is_kept_is_found_again_under_its_key_alone(store):
    keep(store)
    store = reopened(store)
    assert (store.recall("notes", "a"), store.recall("notes", "b")) == ((MADE, []), None)
    store.close()


CHANGES = {
    "written": (lambda store: store.upsert("notes", [point(9), point(10)]), [9, 10]),
    "written anew": (lambda store: store.upsert("notes", [point(1)]), [1]),
    "payload": (lambda store: store.set_payload("notes", {key(1): {"n": 1}, key(2): {}}), [1, 2]),
    "removed": (lambda store: store.delete("notes", [key(3), key(3).upper()]), [3]),
}


@pytest.mark.parametrize(("change", "changed"), CHANGES.values(), ids=CHANGES)
def test_the_points_that_were_changed_since_are_known(store, change, changed):
    keep(store)
    change(store)
    store = reopened(store)
    assert store.recall("notes", "a") == (MADE, list(map(key, changed)))
    keep(store, made=b"anew")
    assert store.recall("notes", "a") == (b"anew", [])
    store.close()


def test_each_knows_what_changed_since_it_was_written_itself(store, folder):
    keep(store, "a")
    store.upsert("notes", [point(1)])
    keep(store, "b")
    store.delete("notes", [key(2)])
    assert [store.recall("notes", one)[1] for one in "ab"] == [[key(1), key(2)], [key(2)]]
    keep(store, "b")
    assert [store.recall("notes", one)[1] for one in "ab"] == [[key(1), key(2)], []]
    keep(store, "a")
    assert [store.recall("notes", one)[1] for one in "ab"] == [[], []]
    assert kept(folder) == ["kept-a", "kept-b", "kept-changes"]


def test_nothing_is_kept_of_a_collection_that_was_removed(store, folder):
    keep(store)
    store.drop("notes")
    assert (store.recall("notes", "a"), folder.exists()) == (None, False)


def test_what_was_made_before_a_change_is_not_kept_after_it(store, folder):
    revision = revision_of(store)
    store.upsert("notes", [point(9)])
    store.keep("notes", "a", MADE, revision)
    store.keep("notes", "a", MADE, None)
    assert kept(folder) == []


def test_a_change_in_another_collection_is_none(store):
    store.create("others", SPEC, {}, {})
    keep(store)
    store.upsert("others", [point(1)])
    assert store.recall("notes", "a") == (MADE, [])


@pytest.mark.parametrize("write", ["upsert('notes', [point(3)])", "delete('notes', [key(3)])"])
def test_a_change_is_noted_before_it_is_made(store, tmp_path, write):
    """The process is killed after the note, before the engine is told."""
    keep(store)
    store.close()
    code = (
        "import os, sys\nfrom lmm_core.store import edge_store\nfrom lmm_core.store.opening import *\n"
        "from tests.store.points import *\nstore = open_store(LocalStorage(sys.argv[1]))\n"
        f"edge_store.check_room = lambda *_: os.kill(os.getpid(), 9)\nstore.{write}"
    )
    with run(code, tmp_path / "index") as killed:
        killed.communicate(timeout=60)
    assert killed.returncode == -9
    store = open_store(LocalStorage(tmp_path / "index"))
    assert store.recall("notes", "a") == (MADE, [key(3)])
    assert store.count("notes") == 8
    store.close()


def test_a_note_survives_a_power_cut_and_nothing_is_noted_where_nothing_is_kept(store, monkeypatch):
    synced = []
    monkeypatch.setattr(kept_files.os, "fsync", lambda handle: synced.append("file"))
    store.upsert("notes", [point(9)])
    assert synced == []
    keep(store)
    synced.clear()
    store.upsert("notes", [point(9)])
    store.upsert("notes", [point(10)])
    assert synced == ["file", "file"]


def test_too_many_changes_are_not_noted_and_nothing_is_kept(store, folder, monkeypatch):
    monkeypatch.setattr(kept_files, "MOST_CHANGES", 5)
    keep(store)
    store.upsert("notes", [point(n) for n in range(5)])
    assert len(store.recall("notes", "a")[1]) == 5
    store.upsert("notes", [point(1)])
    assert kept(folder) == []
    keep(store)
    assert store.recall("notes", "a") == (MADE, [])


def test_a_note_that_is_not_whole_is_no_note(store, folder):
    """As of a process that was killed while it wrote it, before it changed anything."""
    keep(store)
    (folder / "kept-changes").write_bytes(key(1).encode()[:9])
    assert store.recall("notes", "a") is None
    store.upsert("notes", [point(1)])
    assert kept(folder) == []


@pytest.mark.parametrize("line", [b"\0" * 37, b"\xff" * 37, b"z" * 36 + b"\n", b"\n" * 37])
def test_a_note_that_a_power_cut_emptied_is_none(store, folder, line):
    keep(store)
    (folder / "kept-changes").write_bytes(f"{key(1)}\n".encode() + line)
    assert store.recall("notes", "a") is None


def test_without_its_list_of_changes_nothing_counts(store, folder):
    """As of a copy, or after a power cut."""
    keep(store, "a")
    (folder / "kept-changes").unlink()
    assert store.recall("notes", "a") is None
    store.upsert("notes", [point(1)])
    assert kept(folder) == []
    keep(store, "a")
    store.upsert("notes", [point(1)])
    keep(store, "b")
    (folder / "kept-changes").unlink()
    keep(store, "b")
    assert [store.recall("notes", one) for one in "ab"] == [None, (MADE, [])]


def test_no_list_is_shorter_than_it_was(store, folder):
    keep(store, "a")
    store.upsert("notes", [point(1)])
    keep(store, "b")
    (folder / "kept-changes").write_bytes(b"")
    assert store.recall("notes", "b") is None


def test_no_power_cut_brings_back_what_was_removed(store, folder, monkeypatch):
    keep(store)
    there = []
    monkeypatch.setattr(kept_files, "sync_folder", lambda folder: there.append(kept(folder)))
    kept_files.forget_kept(folder)
    assert there == [[]]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:50] + b"!" + data[51:], lambda data: b""]
)
def test_what_is_not_whole_counts_as_nothing(store, folder, damage):
    keep(store)
    path = folder / "kept-a"
    path.write_bytes(damage(path.read_bytes()))
    assert store.recall("notes", "a") is None


def test_the_oldest_make_room(store, folder):
    for at, name in enumerate("abc"):
        keep(store, name)
        os.utime(folder / f"kept-{name}", ns=(at, at))
    assert kept(folder) == ["kept-b", "kept-c", "kept-changes"]
    keep(store, "c", b"other")
    assert (kept(folder), store.recall("notes", "c")) == (["kept-b", "kept-c", "kept-changes"], (b"other", []))


def test_a_disk_that_is_full_or_not_writable_fails_nothing(store, folder, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(room, "SPARE", 1 << 60)
        keep(store)
    (folder / "kept-a").mkdir()  # what cannot be replaced
    keep(store)
    assert store.recall("notes", "a") is None
    (folder / "kept-a").rmdir()


def test_where_a_change_cannot_be_noted_nothing_is_kept(store, folder, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    keep(store)
    with monkeypatch.context() as full:
        full.setattr(kept_files, "_append", fail)
        store.upsert("notes", [point(1)])
    assert kept(folder) == []


def test_a_change_that_can_be_neither_noted_nor_forgotten_is_not_made(store, folder):
    keep(store)
    (folder / "kept-changes").unlink()
    (folder / "kept-changes").mkdir()
    with pytest.raises(StoreError, match="cannot be written to"):
        store.upsert("notes", [point(9)])
    assert store.count("notes") == 8
    (folder / "kept-changes").rmdir()


def test_what_a_killed_run_left_is_removed_with_the_rest(store, folder):
    (folder / ".kept-a.lmm-0123456789abcdef.tmp").write_bytes(b"half")
    keep(store)
    kept_files.forget_kept(folder)
    assert kept(folder) == []
    (folder / ".kept-a.lmm-0123456789abcdef.tmp").write_bytes(b"half")
    store.drop("notes")
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="an open folder cannot be moved")
def test_a_folder_that_was_made_anew_by_another_process_is_left_alone(store, tmp_path, folder):
    (tmp_path / "index").rename(tmp_path / "old")
    other = open_store(LocalStorage(tmp_path / "index"))
    other.create("notes", SPEC, {}, {})
    keep(store)
    assert (kept(folder), store.recall("notes", "a")) == ([], None)
    other.close()


def test_a_server_and_memory_keep_nothing(store):
    assert isinstance(store, KeepingStore)
    assert not isinstance(open_store(":memory:"), KeepingStore)
