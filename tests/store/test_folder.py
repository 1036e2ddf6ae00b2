"""A folder: what is written stays there, whatever ends the process."""

import os
import random
import subprocess
import sys
import time

import pytest

from lmm_core.errors import StoreError
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store import edge_engine, edge_store, folder_lock
from lmm_core.store.folder import room
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store.vector_store import Point, Search, VectorSpec, revision_of
from tests.store.points import (
    DIMENSIONS,
    INDEXES,
    SPEC,
    TYPES,
    ids,
    key,
    near,
    point,
    random_dense,
    random_points,
    random_searches,
    random_words,
)  # fmt: skip


def test_what_was_written_is_there_when_opened_again(tmp_path):
    for _ in range(2):
        store = open_store(LocalStorage(tmp_path / "index"))
        if not store.collections():
            store.create("notes", SPEC, {"a": 1}, INDEXES)
            store.upsert("notes", random_points(300))
        assert store.metadata("notes") == {"a": 1}
        assert store.count("notes") == 300
        assert store.facet("notes", "type").keys() == set(TYPES)
        store.close()


def test_looking_for_a_folder_does_not_make_it(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    assert (store.collections(), store.metadata("notes")) == ([], None)
    store.close()
    assert not (tmp_path / "index").exists()


WRITES = """
import os, sys
from lmm_core.store.opening import open_store
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


def test_a_collection_that_was_half_made_or_half_removed_is_not_there(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.upsert("notes", [point(1)])
    store.close()
    (tmp_path / "index" / "notes" / "collection.json").unlink()
    store = open_store(LocalStorage(tmp_path / "index"))
    assert store.collections() == []
    store.create("notes", SPEC, {}, INDEXES)
    assert store.count("notes") == 0
    store.close()


def test_a_folder_in_use_is_one_sentence(tmp_path, monkeypatch):
    holds = "import sys\nfrom lmm_core.store.opening import *\nstore = open_store(LocalStorage(sys.argv[1]))\n"
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
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


def test_each_change_of_a_folder_gives_it_another_revision(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    assert revision_of(store) is None  # others may make the folder
    seen = []
    for change in (
        lambda: store.create("notes", SPEC, {}, INDEXES),
        lambda: store.upsert("notes", [point(1), point(2)]),
        lambda: store.set_payload("notes", {key(1): {"n": 3}}),
        lambda: store.delete("notes", [key(2)]),
        lambda: store.drop("notes"),
    ):
        change()
        seen.append(revision_of(store))
    assert None not in seen and len(set(map(id, seen))) == len(seen)
    store.close()
    assert revision_of(store) is None


def test_a_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(StoreError, match=r"file is a file, not a folder"):
            open_store(LocalStorage(folder))


@pytest.mark.parametrize("what", ["segment.json", "edge_config.json", "mutable_id_tracker.mappings", "shard"])
def test_a_damaged_collection_says_what_to_do(tmp_path, what):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.upsert("notes", random_points(50))
    store.close()
    for path in (tmp_path / "index").rglob(what):
        path.rename(tmp_path / "away") if path.is_dir() else path.write_bytes(b"garb\0age" * 5)
    store = open_store(LocalStorage(tmp_path / "index"))
    with pytest.raises(StoreError, match=r"'notes' in .* is damaged \(.*\). Remove .*notes and index again"):
        store.count("notes")
    store.drop("notes")
    store.create("notes", SPEC, {}, INDEXES)
    store.close()


def test_a_collection_on_a_full_disk_is_not_said_to_be_damaged(tmp_path, monkeypatch):
    """The engine writes when it opens one, and tells by its message alone why that failed."""
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.close()

    class FullDisk:
        @staticmethod
        def load(*_):
            raise Exception("Failed to save structure on disk with error: No space left on device (os error 28)")

    monkeypatch.setattr("qdrant_edge.EdgeShard", FullDisk)
    store = open_store(LocalStorage(tmp_path / "index"))
    with pytest.raises(StoreError, match=r"The disk of .*index is full\. Make room and run this again\."):
        store.count("notes")
    store.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}'])
def test_a_record_that_is_none_says_what_to_do(tmp_path, text):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    store.close()
    (tmp_path / "index" / "notes" / "collection.json").write_text(text)
    store = open_store(LocalStorage(tmp_path / "index"))
    with pytest.raises(StoreError, match=r"collection.json .*\. Remove .*notes and index again"):
        store.count("notes")
    store.close()


def test_a_full_disk_is_noticed_before_the_engine_does(tmp_path, monkeypatch):
    """The engine writes through memory maps: on a full disk the process would be killed."""
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    store.upsert("notes", [point(1)])
    monkeypatch.setattr(room, "SPARE", 10**18)
    for use in (lambda: store.upsert("notes", [point(2)]), lambda: store.delete("notes", [key(1)])):
        with pytest.raises(
            StoreError, match=r"Only [\d,]+ MB are free on the disk of .*\. Make room and run this again"
        ):
            use()
    assert store.count("notes") == 1
    store.close()


def test_a_folder_much_changed_is_tidied_up(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    store.upsert("notes", random_points(4000))
    store.delete("notes", [each.id for each in random_points(4000)[:3000]])
    words = Search({"words": Sparse([1, 2, 3], [1.0] * 3)}, 20)
    before = [(each.id, round(each.score, 4)) for each in store.search("notes", words)]
    store.close()
    store = open_store(LocalStorage(tmp_path / "index"))
    assert [(each.id, round(each.score, 4)) for each in store.search("notes", words)] == before
    assert store.count("notes") == 1000
    store.close()


def best_of(store, word):
    return [
        (each.id, round(each.score, 4)) for each in store.search("notes", Search({"words": Sparse([word], [1.0])}, 3))
    ]


@pytest.mark.parametrize("in_memory", [1, 12_000], ids=["in files", "in memory"])
def test_removed_points_count_for_no_score_and_nothing_is_rebuilt_for_that(tmp_path, monkeypatch, in_memory):
    """A rebuilt segment would have made the search wait."""
    monkeypatch.setattr(edge_engine, "IN_MEMORY", in_memory)
    monkeypatch.setattr(edge_store, "SEGMENT", 300)
    kept, removed = [point(n, words=[n % 7]) for n in range(150)], [point(n, words=[1, 2]) for n in range(150, 300)]
    store = open_store(LocalStorage(tmp_path / "index"))
    for name, written in (("notes", kept + removed), ("anew", kept)):
        store.create(name, VectorSpec({"content": DIMENSIONS}, sparse=("words",)), {}, {})
        store.upsert(name, written)
    shard = store._shards["notes"]
    segments = shard.info().segments_count
    store.delete("notes", [each.id for each in removed])
    for word in range(4):
        search = Search({"words": Sparse([word], [1.0])}, 3)
        assert store.search("notes", search) == store.search("anew", search)
    assert (store._shards["notes"], shard.info().segments_count) == (shard, segments)
    store.close()


def test_a_large_collection_has_left_memory_before_it_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_engine, "IN_MEMORY", 8)
    monkeypatch.setattr(edge_store, "SEGMENT", 300)
    rebuilt = []
    settle = edge_store.EdgeStore._settle
    monkeypatch.setattr(edge_store.EdgeStore, "_settle", lambda *asked: rebuilt.append(asked[1]) or settle(*asked))
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    for at in range(0, 900, 100):
        store.upsert("notes", [point(n, words=[n % 7]) for n in range(at, at + 100)])
    assert (store._shards["notes"].info().segments_count, len(rebuilt)) == (4, 3)
    store.close()
    assert len(rebuilt) == 3


def test_new_payloads_change_no_score(tmp_path, monkeypatch):
    """In a collection of many segments, the engine makes new points from the old ones."""
    monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    monkeypatch.setattr(edge_store, "SEGMENT", 100)
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    for at in range(0, 300, 100):
        store.upsert("notes", [point(n, words=[n % 7]) for n in range(at, at + 100)])
    before = best_of(store, 0)
    store.set_payload("notes", {key(n): {"n": -n} for n in range(0, 300, 7)})
    assert best_of(store, 0) == before
    store.close()


def test_a_folder_of_an_earlier_version_is_used_as_it_is(tmp_path, monkeypatch):
    def earlier(spec):
        import qdrant_edge as edge

        dense = {"content": edge.EdgeVectorParams(DIMENSIONS, edge.Distance.Cosine)}
        several = edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim)
        multi = {"parts": edge.EdgeVectorParams(DIMENSIONS, edge.Distance.Cosine, multivector_config=several)}
        words = {"words": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
        optimizers = edge.EdgeOptimizersConfig(indexing_threshold=256 * 1024, default_segment_number=1)
        return edge.EdgeConfig(dense | multi, words, optimizers=optimizers)

    points, searches = random_points(300), list(random_searches(10))
    found = {}
    for name, config in (("earlier", earlier), ("now", edge_store.edge_config)):
        with monkeypatch.context() as patched:
            patched.setattr(edge_store, "edge_config", config)
            store = open_store(LocalStorage(tmp_path / name))
            store.create("notes", SPEC, {}, INDEXES)
            store.upsert("notes", points[:200])
            store.close()
        monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
        store = open_store(LocalStorage(tmp_path / name))
        store.upsert("notes", points[150:])
        store.delete("notes", [each.id for each in points[:50]])
        found[name] = [store.search("notes", search) for search in searches]
        assert store.count("notes") == 250
        store.close()
    for earlier_hits, hits in zip(found["earlier"], found["now"], strict=True):
        assert [(each.id, each.payload) for each in earlier_hits] == [(each.id, each.payload) for each in hits]
        assert [each.score for each in earlier_hits] == pytest.approx([each.score for each in hits], abs=1e-5)


MEASURED = """
import sys
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store import edge_store
from tests.store.points import *
edge_store.SEGMENT = 4096
store = open_store(LocalStorage(sys.argv[1]))
store.create("notes", VectorSpec(sparse=("words",)), {}, {"docid": "keyword"})
for at in range(0, 24_576, 512):
    words = [[n % 997 + 1000 * word for word in range(150)] for n in range(at, at + 512)]
    payloads = [{"docid": str(n // 20), "text": "x" * 1000} for n in range(at, at + 512)]
    points = [Point(key(n), {"words": point(n, words[n - at]).vectors["words"]}, payloads[n - at]) for n in range(at, at + 512)]
    store.upsert("notes", points)
    if at + 512 in (8_192, 24_576):
        print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("RssAnon")), flush=True)
store.close()
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_collection(tmp_path):
    with run(MEASURED, tmp_path / "index") as process:
        first, last = (int(line) / 1000 for line in process.communicate(timeout=300)[0].split())
    assert last - first < 15, f"{first:.0f} MB, then {last:.0f} MB"


def test_a_folder_can_be_used_by_many_threads(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})

    def work(n):
        store.upsert("notes", [point(n, words=[n])])
        store.delete("notes", [key(n + 500)])
        return ids(store.search("notes", Search({"words": Sparse([n], [1.0])}, 1)))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 20))) == [[n] for n in range(1, 20)]
    store.close()


@pytest.mark.long
def test_a_folder_of_many_points(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.upsert("notes", [point(n, words=[n % 1000, 5000]) for n in range(1, 50_001)])
    store.close()
    store = open_store(LocalStorage(tmp_path / "index"))
    assert store.count("notes") == 50_000
    assert ids(store.search("notes", Search({"words": Sparse([77], [1.0])}, 3))) == [77, 1077, 2077]
    assert sum(1 for _ in store.scroll("notes", keys=[])) == 50_000
    store.close()


def test_our_fusion_is_the_engines(tmp_path):
    """Without ties, it gives the results of the engine's own RRF."""
    import qdrant_edge as edge

    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    chance = random.Random(4)
    for n in range(1, 400):
        vectors = {"content": random_dense(chance), "words": random_words(chance)}
        store.upsert("notes", [Point(key(n), vectors, {"type": TYPES[n % 4]})])
    dense, words = random_dense(chance), random_words(chance)
    prefetches = [
        edge.Prefetch(limit=500, query=edge.Query.Nearest(dense, using="content")),
        edge.Prefetch(limit=500, query=edge.Query.Nearest(edge.SparseVector(words.indices, words.values), "words")),
    ]
    theirs = store._shards["notes"].query(edge.QueryRequest(10, query=edge.Fusion.Rrf(2), prefetches=prefetches))
    search = Search({"content": dense, "words": words}, 10, prefetch=500)
    ours = store.search("notes", search)
    assert [each.score for each in ours] == pytest.approx([each.score for each in theirs], abs=1e-6)
    assert sorted(each.id for each in ours) == sorted(str(each.id) for each in theirs)
    store.close()


def test_a_folder_that_cannot_be_written_to_is_read_from_a_copy(tmp_path, monkeypatch):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.upsert("notes", random_points(30))
    store.sync("notes")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # for root, every folder can be written to
    copy = open_store(LocalStorage(tmp_path / "index"), reads=True)  # beside the one that has the lock
    assert copy.count("notes") == 30
    search = Search({"content": near(1)}, 3)
    assert copy.search("notes", search) == store.search("notes", search)
    copy.close()
    assert copy.folder != store.folder and not copy.folder.exists()
    store.close()
