"""A folder: what is written stays there, whatever ends the process."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lmm_core.errors import StoreError
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store import edge_engine, edge_store, folder_files, folder_lock
from lmm_core.store.places import LocalStorage, open_store
from lmm_core.store.vector_store import Search, VectorSpec
from tests.store.points import (
    DIMENSIONS,
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


WRITES = """
import os, sys
from lmm_core.store.places import open_store
from lmm_core.store.places import LocalStorage
from tests.store.points import *
store = open_store(LocalStorage(sys.argv[1]))
if not store.collections():
    store.create("notes", SPEC, {"made": True}, INDEXES)
before = store.count("notes")
print(before, flush=True)
store.upsert("notes", [point(n, words=[n]) for n in range(before + 1, before + 701)])
store.set_payload("notes", {key(before + 1): {"n": "changed"}})
store.delete("notes", [key(before + 2)])
store.upsert("notes", [point(before + 2, words=[1], payload={"n": "again"})])
print("written", flush=True)
MORE
os.kill(os.getpid(), 9)
"""


def run(code, folder, **options):
    """Start Python in another process, in which tests can be imported."""
    where = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": where}, **options
    )


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_written(tmp_path):
    for times in (1, 2):
        with run(WRITES.replace("MORE", ""), tmp_path / "index") as killed:
            assert killed.communicate(timeout=60)[0].split()[-1] == "written"
        assert killed.returncode == -9
        store = open_store(LocalStorage(tmp_path / "index"))
        assert store.metadata("notes") == {"made": True}
        assert ids(store.scroll("notes")) == list(range(1, 700 * times + 1))
        last = 700 * (times - 1)
        changed = [each.payload["n"] for each in store.retrieve("notes", [key(last + n) for n in (1, 2, 3)])]
        assert changed == ["changed", "again", last + 3]
        assert ids(store.search("notes", Search({"words": Sparse([last + 9], [1.0])}, 1))) == [last + 9]
        store.close()


SETTLING = """
from lmm_core.store import edge_engine, edge_store
edge_store.SEGMENT, edge_store.SMALL, edge_engine.IN_MEMORY = 300, 100, 1
for at in range(1000, 9000, 100):
    store.upsert('notes', [point(n, words=[n % 99]) for n in range(at, at + 100)])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "forever",
    ["while True: store.upsert('notes', [point(n, words=[n % 99]) for n in range(1000, 9000)])", SETTLING],
    ids=["one segment", "many"],
)
def test_a_process_that_is_killed_while_it_writes_leaves_whole_points(tmp_path, forever):
    """Points that upsert has returned for are there; of the others, each is whole or missing."""
    for wait in (0.0, 0.1, 0.3):
        with run(WRITES.replace("MORE", forever), tmp_path / "index") as writer:
            while writer.stdout.readline().strip() != "written":
                pass
            time.sleep(wait)
            writer.kill()
        store = open_store(LocalStorage(tmp_path / "index"))
        found = list(store.scroll("notes"))
        assert len(found) == len(set(ids(found))) == store.count("notes") >= 700
        assert all("n" in each.payload for each in found)
        assert ids(store.search("notes", Search({"content": near(9), "words": Sparse([9], [1.0])}, 3)))
        store.drop("notes")
        store.close()


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


def test_each_change_of_a_folder_gives_it_another_revision(store):
    seen = []
    for change in (
        lambda: store.create("more", SPEC, {}, INDEXES),
        lambda: store.upsert("more", [point(1), point(2)]),
        lambda: store.set_payload("more", {key(1): {"n": 3}}),
        lambda: store.delete("more", [key(2)]),
        lambda: store.drop("more"),
    ):
        change()
        seen.append(store.revision)
    assert None not in seen and len(set(map(id, seen))) == len(seen)
    store.close()
    assert store.revision is None


# What cannot be read or written


@pytest.mark.parametrize(
    ("what", "data", "said"),
    [
        ("notes/collection.json", b"{", r"collection.json .*\. Remove .*notes and index again"),
        ("notes/collection.json", b'{"format": 99}', r"collection.json .*\. Remove .*notes and index again"),
        ("segment.json", b"garb\0age", r"'notes' in .* is damaged \(.*\). Remove .*notes and index again"),
        (
            "mutable_id_tracker.mappings",
            b"garb\0age",
            r"'notes' in .* is damaged \(.*\). Remove .*notes and index again",
        ),
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


def test_a_collection_on_a_full_disk_is_not_said_to_be_damaged(store, tmp_path, monkeypatch):
    """The engine writes when it opens one, and tells by its message alone why that failed."""

    class FullDisk:
        @staticmethod
        def load(*_):
            raise Exception("Failed to save structure on disk with error: No space left on device (os error 28)")

    store.close()
    monkeypatch.setattr("qdrant_edge.EdgeShard", FullDisk)
    again = opened(tmp_path)
    with pytest.raises(StoreError, match=r"The disk of .*index is full\. Make room and run this again\."):
        again.count("notes")
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
    store.sync("notes")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # for root, every folder can be written to
    copy = opened(tmp_path, reads=True)  # beside the one that has the lock
    search = Search({"content": near(1)}, 3)
    assert copy.count("notes") == 30
    assert copy.search("notes", search) == store.search("notes", search)
    copy.close()
    assert copy.folder != store.folder and not copy.folder.exists()


# Many points


def test_removed_points_count_for_no_score_and_nothing_is_rebuilt_for_that(store, monkeypatch):
    """A rebuilt segment would have made the search wait."""
    monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    monkeypatch.setattr(edge_store, "SEGMENT", 300)
    kept, removed = [point(n, words=[n % 7]) for n in range(150)], [point(n, words=[1, 2]) for n in range(150, 300)]
    for name, written in (("changed", kept + removed), ("anew", kept)):
        store.create(name, VectorSpec({"content": DIMENSIONS}, sparse=("words",)), {}, {})
        store.upsert(name, written)
    segments = store._shards["changed"].info().segments_count
    store.delete("changed", [each.id for each in removed])
    for word in range(4):
        search = Search({"words": Sparse([word], [1.0])}, 3)
        assert store.search("changed", search) == store.search("anew", search)
    assert store._shards["changed"].info().segments_count == segments


def test_new_payloads_change_no_score(store, monkeypatch):
    """In a collection of many segments, the engine makes new points from the old ones."""
    monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    monkeypatch.setattr(edge_store, "SEGMENT", 100)
    for at in range(0, 300, 100):
        store.upsert("notes", [point(n, words=[n % 7]) for n in range(at, at + 100)])

    def scores():
        return [(each.id, each.score) for each in store.search("notes", Search({"words": Sparse([0], [1.0])}, 3))]

    before = scores()
    store.set_payload("notes", {key(n): {"n": -n} for n in range(0, 300, 7)})
    assert scores() == [(id, pytest.approx(score, abs=1e-4)) for id, score in before]


def test_a_folder_can_be_used_by_many_threads(store):
    def work(n):
        store.upsert("notes", [point(n, words=[n])])
        store.delete("notes", [key(n + 500)])
        return ids(store.search("notes", Search({"words": Sparse([n], [1.0])}, 1)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 20))) == [[n] for n in range(1, 20)]
