"""Every place keeps and finds the same: memory, a folder, and a server.

A real server is tested too if LMM_TEST_QDRANT names one (`LMM_TEST_QDRANT=http://localhost:6333`).
"""

import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from traceback import format_exception
from uuid import UUID

import pytest

from lmm_core.errors import StoreError
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store import edge_engine, edge_store, folder_lock, qdrant_store
from lmm_core.store.folder import room
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage, RemoteSource
from lmm_core.store.vector_store import Point, Search, VectorSpec, VectorStore, Where, revision_of
from tests.qdrant_server import Fault, OwnNames, QdrantServer
from tests.store.points import DIMENSIONS, INDEXES, SPEC, key, near, point

TYPES = ["text", "exercise", "summary", "Übung"]
QDRANT = os.environ.get("LMM_TEST_QDRANT")
PLACES = ["memory", "folder", "server", *(["qdrant"] if QDRANT else [])]


def opened(place, folder, using):
    """Return a store at a place; what it needs is closed with `using`."""
    if place == "memory":
        return open_store(":memory:")
    if place == "folder":
        return open_store(LocalStorage(folder / "index"))
    if place == "qdrant":
        store = open_store(RemoteSource(QDRANT))
        store._client = using.enter_context(OwnNames(store._client, QDRANT))
        return store
    return open_store(RemoteSource(using.enter_context(QdrantServer()).url))


@pytest.fixture(params=PLACES)
def store(request, tmp_path):
    with ExitStack() as using:
        store = opened(request.param, tmp_path, using)
        yield store
        store.close()


@pytest.fixture
def notes(store):
    """Return a store with the empty collection `notes`."""
    store.create("notes", SPEC, {"encoding": "hybrid"}, INDEXES)
    return store


@pytest.fixture
def server():
    with QdrantServer() as server:
        yield server


@pytest.fixture
def remote(server, monkeypatch):
    """Return a store on a server, with the empty collection `notes`, that does not wait long."""
    monkeypatch.setattr(qdrant_store, "WAITS", (0.01, 0.02))
    store = open_store(RemoteSource(server.url, timeout=1))
    store.create("notes", SPEC, {}, INDEXES)
    store.count("notes")
    server.requests.clear()
    yield store
    store.close()


def random_points(count, seed=1):
    """Return points with all vectors, about half of them with twins; 1 of 10 without dense ones."""
    chance, points = random.Random(seed), []
    for number in range(1, count + 1):
        payload = {"type": chance.choice(TYPES), "docid": f"a/{number % 7}.md", "sequence": number}
        if points and chance.random() < 0.5:
            vectors = chance.choice(points).vectors
        else:
            vectors = {"words": random_words(chance), "parts": [random_dense(chance) for _ in range(3)]}
            if chance.random() < 0.9:
                vectors["content"] = random_dense(chance)
        points.append(Point(str(UUID(int=chance.getrandbits(128), version=4)), vectors, payload))
    return points


def random_dense(chance):
    return [chance.gauss(0, 1) for _ in range(DIMENSIONS)]


def random_words(chance):
    words = sorted({min(int(chance.paretovariate(0.6)), 4_000_000_000) for _ in range(12)})
    return Sparse(words, [round(chance.uniform(0.5, 2), 2) for _ in words])


def ids(points):
    return [UUID(found.id).int for found in points]


# What is kept


def test_a_store_is_a_vector_store(store):
    assert isinstance(store, VectorStore)


def test_collections_are_made_listed_and_dropped(store):
    assert store.collections() == []
    store.create("notes", SPEC, {}, {})
    store.create("documents", VectorSpec(), {}, {})
    assert store.collections() == ["documents", "notes"]
    store.drop("notes")
    store.drop("notes")
    assert store.collections() == ["documents"]
    assert store.metadata("notes") is None
    with pytest.raises(StoreError, match="no collection 'notes'"):
        store.count("notes")


def test_a_collection_dropped_and_made_again_is_empty(notes):
    notes.upsert("notes", [point(1)])
    notes.drop("notes")
    notes.create("notes", VectorSpec(dense={"content": 3}), {}, {})
    assert notes.count("notes") == 0
    notes.upsert("notes", [Point(key(1), {"content": [1.0, 2.0, 3.0]}, {})])


def test_metadata_comes_back_as_it_was_given(store):
    given = {"embedding": "fastembed/ü", "dimensions": 8, "nested": {"a": [1, None, True, 0.5]}}
    store.create("notes", SPEC, given, {})
    got = store.metadata("notes")
    assert got == given
    got["nested"]["a"].append(2)
    assert store.metadata("notes") == given
    store.create("plain", SPEC, {}, {})
    assert store.metadata("plain") == {}


def test_a_collection_is_made_once(notes):
    with pytest.raises(StoreError, match=r"There is already a collection 'notes' "):
        notes.create("notes", SPEC, {}, {})


def test_names_that_are_none(store):
    uses = (lambda name: store.create(name, SPEC, {}, {}), store.drop, store.count, store.metadata)
    for name in ("", ".", "..", ".hidden", "a/b", "../x", "ä", "a b", "a" * 300, "x\n"):
        for use in uses:
            with pytest.raises(StoreError, match="cannot be the name of a collection"):
                use(name)


def test_payloads_come_back_as_they_were_given(notes):
    payload = {
        "page_content": "Größe, 漢字, 🙂, \u0000, a\r\nb \\ \"quoted\"",
        "titles": ["Ä - ö", ""],
        "ünïcode key with spaces": {"nested": [1, 2.5, True, None, {"x": "y"}]},
        "long": "x" * 100_000,
        "number": -(2**53),
    }  # fmt: skip
    notes.upsert("notes", [point(1, payload=payload)])
    assert notes.retrieve("notes", [key(1)])[0].payload == payload
    assert next(notes.scroll("notes")).payload == payload
    found = notes.search("notes", Search({"content": near(1)}, limit=1))[0]
    assert found.payload == payload
    found.payload["long"] = ""
    assert notes.retrieve("notes", [key(1)])[0].payload == payload


def test_points_are_replaced_by_those_of_the_same_id(notes):
    notes.upsert("notes", [point(1, payload={"old": 1}), point(2)])
    notes.upsert("notes", [point(1, payload={"new": 1}, content=near(9))])
    assert notes.retrieve("notes", [key(1)])[0].payload == {"new": 1}
    assert notes.count("notes") == 2
    assert ids(notes.search("notes", Search({"content": near(9)}, limit=1))) == [1]


def test_retrieve_keeps_the_order_and_leaves_out_what_is_not_there(notes):
    notes.upsert("notes", [point(n) for n in (1, 2, 3)])
    assert ids(notes.retrieve("notes", [key(3), key(99), key(1)])) == [3, 1]
    assert notes.retrieve("notes", []) == []


def test_ids_in_other_spellings_are_the_same_point(notes):
    at = "ABCDEF00-0000-4000-8000-000000000001"
    notes.upsert("notes", [Point(at, {}, {"a": 1})])
    assert [found.id for found in notes.retrieve("notes", [at.replace("-", "")])] == [at.lower()]
    notes.delete("notes", [at])
    assert notes.count("notes") == 0


def test_set_payload_puts_whole_payloads_in_place(notes):
    notes.upsert("notes", [point(n, payload={"line": n, "type": "text"}) for n in range(1, 600)])
    notes.set_payload("notes", {key(n): {"line": n + 1} for n in range(2, 700)})
    assert [found.payload for found in notes.scroll("notes")][:3] == [
        {"line": 1, "type": "text"}, {"line": 3}, {"line": 4}
    ]  # fmt: skip
    assert notes.count("notes") == 599
    assert notes.count("notes", Where(all={"type": "text"})) == 1


def test_delete_removes_points_and_minds_no_others(notes):
    notes.upsert("notes", [point(n) for n in (1, 2, 3)])
    notes.delete("notes", [key(2), key(99)])
    notes.delete("notes", [])
    assert ids(notes.scroll("notes")) == [1, 3]


def test_scroll_gives_all_in_the_order_of_ids(notes):
    points = random_points(2500)
    notes.upsert("notes", points)
    found = list(notes.scroll("notes", keys=["sequence"]))
    assert [each.id for each in found] == sorted(each.id for each in points)
    assert set(found[0].payload) == {"sequence"}
    assert found[0].score == 0


def test_where_and_count_and_facet(notes):
    for n, kind in enumerate(["text", "exercise", "text", None], start=1):
        notes.upsert("notes", [point(n, payload={"sequence": n} | ({"type": kind} if kind else {}))])

    def fitting(**where):
        fits = Where(**where)
        found = ids(notes.scroll("notes", fits))
        assert notes.count("notes", fits) == len(found)
        assert sorted(ids(notes.search("notes", Search({"content": near(1)}, 9, where=fits)))) == found
        return found

    assert fitting(all={"type": "text"}) == [1, 3]
    assert fitting(all={"type": ["text", "exercise"]}) == [1, 2, 3]
    assert fitting(all={"type": "text", "sequence": 3}) == [3]
    assert fitting(all={"sequence": [1, 4, 9]}) == [1, 4]
    assert fitting(none={"type": ["text"]}) == [2, 4]
    assert fitting(all={"type": "text"}, none={"sequence": 1}) == [3]
    assert fitting(all={"type": []}) == []
    assert fitting(none={"type": []}) == [1, 2, 3, 4]
    assert fitting(all={"type": ["text", 7]}) == [1, 3]
    assert notes.facet("notes", "type") == {"exercise": 1, "text": 2}


def test_one_vector_of_a_list_fits_a_filter(notes):
    notes.upsert("notes", [point(1, payload={"type": ["text", "Übung"]}), point(2, payload={"type": "text"})])
    assert notes.count("notes", Where(all={"type": "Übung"})) == 1
    assert notes.facet("notes", "type") == {"text": 2, "Übung": 1}


# What is found


def test_the_nearest_comes_first(notes):
    notes.upsert("notes", [point(n) for n in range(1, 30)])
    found = notes.search("notes", Search({"content": near(7)}, limit=3))
    assert ids(found) == [7, 8, 6]
    assert found[0].score == pytest.approx(1)
    assert found[0].payload == {"n": 7}


def test_rare_words_weigh_more(notes):
    notes.upsert("notes", [point(n, words=[1, 2] if n < 9 else [1, 3]) for n in range(1, 10)])
    found = notes.search("notes", Search({"words": Sparse([2, 3], [1.0, 1.0])}, limit=9))
    assert ids(found) == [9, 1, 2, 3, 4, 5, 6, 7, 8]


def test_words_of_removed_points_do_not_count(notes):
    notes.upsert("notes", [point(n, words=[1] if n < 60 else [2]) for n in range(1, 70)])
    before = notes.search("notes", Search({"words": Sparse([2], [1.0])}, limit=1))[0].score
    notes.delete("notes", [key(n) for n in range(1, 55)])
    after = notes.search("notes", Search({"words": Sparse([2], [1.0])}, limit=1))[0].score
    # ln(1 + (15 - 10 + 0.5) / (10 + 0.5)), of 15 points of which 10 have the word
    assert (before, after) == (pytest.approx(1.897, abs=1e-3), pytest.approx(0.4212, abs=1e-3))


def test_multivectors_are_compared_by_the_best_match_of_each(notes):
    notes.upsert("notes", [point(1, parts=[near(0), near(90)]), point(2, parts=[near(50), near(50)])])
    found = notes.search("notes", Search({"parts": [near(0), near(90)]}, limit=2))
    assert ids(found) == [1, 2]
    assert found[0].score == pytest.approx(2)


def test_several_vectors_are_fused_by_their_ranks(notes):
    notes.upsert("notes", [point(n, words=[1] if n != 3 else [1, 2]) for n in range(1, 6)])
    found = notes.search("notes", Search({"content": near(1), "words": Sparse([2], [1.0])}, limit=3))
    assert ids(found) == [3, 1, 2]
    assert [each.score for each in found] == [pytest.approx(s) for s in (1 / 2 + 1 / 4, 1 / 2, 1 / 3)]


def test_equal_points_come_in_the_order_of_their_ids(notes):
    numbers = random.Random(3).sample(range(1, 900), 300)
    notes.upsert("notes", [point(n, words=[5], content=near(1)) for n in numbers])
    for vectors in ({"content": near(1)}, {"words": Sparse([5], [1.0])}):
        assert ids(notes.search("notes", Search(vectors, limit=40))) == sorted(numbers)[:40]
    both = Search({"content": near(1), "words": Sparse([5], [1.0])}, limit=40)
    assert ids(notes.search("notes", both)) == sorted(numbers)[:40]


def test_nothing_to_look_for_finds_nothing(notes):
    notes.upsert("notes", [point(1, words=[1])])
    assert notes.search("notes", Search({"words": Sparse([], [])}, limit=5)) == []
    assert notes.search("notes", Search({"words": Sparse([77], [1.0])}, limit=5)) == []
    assert notes.search("notes", Search({}, limit=5)) == []
    assert notes.search("notes", Search({"content": near(1)}, limit=0)) == []


def random_searches(count):
    chance = random.Random(9)
    for _ in range(count):
        vectors = {
            "content": random_dense(chance),
            "words": random_words(chance),
            "parts": [random_dense(chance) for _ in range(2)],
        }
        used = chance.sample(sorted(vectors), chance.choice([1, 1, 2, 2, 3]))
        where = Where(all={"docid": ["a/1.md", "a/2.md"]}, none={"type": "summary"})
        yield Search(
            {name: vectors[name] for name in used},
            limit=chance.choice([1, 5, 20]),
            prefetch=chance.choice([20, 50]),
            where=chance.choice([None, where]),
        )


@pytest.mark.slow
@pytest.mark.parametrize("segment", [None, 50], ids=["one segment", "many"])
def test_all_places_find_the_same_in_the_same_order(tmp_path, monkeypatch, segment):
    """The points have many twins; some were written twice, and some removed."""
    if segment:
        monkeypatch.setattr(edge_store, "SEGMENT", segment)
        monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    points, newer, searches = random_points(400), random_points(400, seed=2), list(random_searches(30))
    found = {}
    with ExitStack() as using:
        for place in PLACES:
            store = opened(place, tmp_path, using)
            using.callback(store.close)
            store.create("notes", SPEC, {}, INDEXES)
            store.upsert("notes", points)
            store.upsert(
                "notes",
                [Point(old.id, new.vectors, new.payload) for old, new in zip(points[:200], newer[:200], strict=True)],
            )
            store.delete("notes", [each.id for each in points[100:300]])
            found[place] = [store.search("notes", search) for search in searches]
    for memory, folder, *servers in zip(*found.values(), strict=True):
        for other in (folder, *servers):
            assert [each.id for each in other] == [each.id for each in memory]
        assert [each.payload for each in memory] == [each.payload for each in folder]
        assert [each.score for each in memory] == pytest.approx([each.score for each in folder], abs=1e-4)


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


# What does not fit


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Point("no-uuid", {}, {}), "'no-uuid' cannot be the id"),
        (Point(key(2), {"content": [1.0, 2.0]}, {}), "has 2 dimensions, the collection's has 8: .* another embedding"),
        (Point(key(2), {"parts": [near(1), [1.0]]}, {}), "'parts' has 1 dimensions"),
        (Point(key(2), {"parts": []}, {}), "'parts' is a multivector without vectors"),
        (Point(key(2), {"other": near(1)}, {}), "no vector 'other' .*: content, parts, words"),
        (Point(key(2), {"content": Sparse([1], [1.0])}, {}), "no vector 'content' of this kind"),
        (Point(key(2), {"words": Sparse([1, 1], [1.0, 2.0])}, {}), "each index once"),
        (Point(key(2), {"words": Sparse([1, 2], [1.0])}, {}), "one value for each"),
        (Point(key(2), {"content": [float("nan")] * DIMENSIONS}, {}), "'content' holds something that is not a number"),
        (Point(key(2), {"content": [None] * DIMENSIONS}, {}), "'content' holds something that is not a number"),
    ],
)
def test_a_point_that_does_not_fit_is_named_and_nothing_written(notes, wrong, told):
    with pytest.raises(StoreError, match=told):
        notes.upsert("notes", [point(1), wrong, point(3)])
    assert notes.count("notes") == 0


def test_a_search_that_does_not_fit(notes):
    for vectors, told in (({"content": [1.0]}, "has 1 dimensions"), ({"x": near(1)}, "no vector 'x'")):
        with pytest.raises(StoreError, match=told):
            notes.search("notes", Search(vectors, limit=1))


def test_what_is_not_there_is_said_by_every_method(store):
    uses = [
        lambda: store.upsert("gone", [point(1)]),
        lambda: store.set_payload("gone", {key(1): {}}),
        lambda: store.delete("gone", [key(1)]),
        lambda: list(store.scroll("gone")),
        lambda: store.retrieve("gone", [key(1)]),
        lambda: store.search("gone", Search({"content": near(1)}, 1)),
        lambda: store.count("gone"),
        lambda: store.facet("gone", "type"),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="There is no collection 'gone'"):
            use()


def test_a_closed_store_says_so(notes):
    notes.close()
    notes.close()
    for use in (notes.collections, lambda: notes.count("notes"), lambda: notes.upsert("notes", [point(1)])):
        with pytest.raises(StoreError, match="was closed"):
            use()


def test_empty_sparse_vectors_are_no_vectors(notes):
    notes.upsert("notes", [point(1, words=[1]), Point(key(2), {"words": Sparse([], [])}, {})])
    assert notes.count("notes") == 2
    assert notes.search("notes", Search({"words": Sparse([1], [1.0])}, 5))[0].score == pytest.approx(0.2877, abs=1e-3)


def test_places_that_are_none(tmp_path):
    for place in ("memory", tmp_path, None):
        with pytest.raises(StoreError, match="is not a place for an index"):
            open_store(place)
    with pytest.raises(StoreError, match="is not the address of a Qdrant server"):
        open_store(RemoteSource("localhost:6333"))


# A folder


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


def test_a_folder_that_is_made_after_opening_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "WAIT", 0.1)
    early, other = open_store(LocalStorage(tmp_path / "index")), open_store(LocalStorage(tmp_path / "index"))
    other.create("notes", SPEC, {}, {})
    with pytest.raises(StoreError, match="already open in this program"):
        early.count("notes")
    other.close()
    assert early.count("notes") == 0
    early.close()


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


def test_reading_leaves_the_revision_as_it_is(tmp_path):
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, INDEXES)
    store.upsert("notes", [point(1, words=[1])])
    before = revision_of(store)
    list(store.scroll("notes"))
    store.search("notes", Search({"words": Sparse([1], [1.0])}, 3))
    store.retrieve("notes", [key(1)])
    assert (store.count("notes"), store.metadata("notes"), revision_of(store)) == (1, {}, before)
    store.close()


def test_only_a_folder_is_known_to_be_unchanged(notes):
    """Others may write to a server."""
    assert (revision_of(notes) is not None) == isinstance(notes, edge_store.EdgeStore)


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


def test_words_leave_memory_sooner_than_what_has_a_meaning_too(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_engine, "OF_WORDS", 1)
    monkeypatch.setattr(edge_store, "SEGMENT", 300)
    store, segments = open_store(LocalStorage(tmp_path / "index")), {}
    for name, dense in (("words", {}), ("both", {"content": DIMENSIONS})):
        store.create(name, VectorSpec(dense, sparse=("words",)), {}, {})
        for at in range(0, 600, 300):
            points = [Point(key(n), {"words": Sparse([n % 7], [1.0])}, {"n": n}) for n in range(at, at + 300)]
            store.upsert(name, points)
        segments[name] = store._shards[name].info().segments_count
    store.close()
    assert segments == {"words": 3, "both": 1}


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


def test_what_was_written_last_is_tidied_up_though_a_segment_was_just_full(tmp_path, monkeypatch):
    monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    monkeypatch.setattr(edge_store, "SEGMENT", 300)
    store = open_store(LocalStorage(tmp_path / "index"))
    store.create("notes", SPEC, {}, {})
    store.upsert("notes", [point(n, words=[n % 7]) for n in range(300)])
    store.delete("notes", [key(n) for n in range(0, 280, 7)])
    store.upsert("notes", [point(n, words=[1, 2]) for n in range(1000, 1260)])
    store.close()
    found = {}
    for name in ("index", "anew"):
        store = open_store(LocalStorage(tmp_path / name))
        if name == "anew":
            kept = [point(n, words=[n % 7]) for n in range(300) if n % 7 or n >= 280]
            store.create("notes", SPEC, {}, {})
            store.upsert("notes", [*kept, *(point(n, words=[1, 2]) for n in range(1000, 1260))])
        found[name] = [best_of(store, word) for word in range(4)]
        store.close()
    assert found["index"] == found["anew"]


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


def test_opening_a_folder_loads_no_client(tmp_path):
    code = """
import sys
import lmm_core.store.edge_store, lmm_core.store.qdrant_store
heavy = {"qdrant_edge", "qdrant_client", "numpy", "grpc", "httpx", "pydantic"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.store.vector_store import VectorSpec, Search
store = open_store(LocalStorage(sys.argv[1]))
store.create("notes", VectorSpec(dense={"d": 2}), {}, {})
store.search("notes", Search({"d": [1.0, 2.0]}, 1))
assert heavy & set(sys.modules) == {"qdrant_edge"}, heavy & set(sys.modules)
print("fine")
"""
    with run(code, tmp_path / "index") as other:
        assert other.communicate(timeout=60)[0] == "fine\n"


# A server


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        Fault("PUT /collections/notes/points", times=2, status=503),
        Fault("PUT /collections/notes/points", times=2, status=429),
        Fault("PUT /collections/notes/points", times=1, status=429, headers=(("Retry-After", "0"),)),
        Fault("PUT /collections/notes/points", times=2, drop=True),
        Fault("PUT /collections/notes/points", times=1, drop=True, done=True),
        Fault("PUT /collections/notes/points", times=1, delay=1.3),
    ],
    ids=["503", "429", "retry-after", "dropped", "dropped after", "slow"],
)
def test_what_passes_is_tried_again(server, remote, fault):
    server.faults.append(fault)
    remote.upsert("notes", [point(n) for n in range(1, 600)])
    assert remote.count("notes") == 599
    assert fault.times == 0


def test_points_go_in_batches(server, remote):
    remote.upsert("notes", [point(n) for n in range(1, 600)])
    assert [len(body["points"]) for body in server.bodies if "points" in body] == [256, 256, 87]


def test_what_was_written_before_a_failure_stays(server, remote):
    server.faults.append(Fault("PUT /collections/notes/points", after=2, times=3, status=500, text="disk is full"))
    with pytest.raises(StoreError, match=r"server at http://127.0.0.1:\d+ has failed \(500\): disk is full"):
        remote.upsert("notes", [point(n) for n in range(1, 600)])
    assert remote.count("notes") == 512
    remote.upsert("notes", [point(n) for n in range(1, 600)])
    assert remote.count("notes") == 599


def test_a_time_out_says_after_how_long(server, remote, monkeypatch):
    monkeypatch.setattr(qdrant_store, "WAITS", ())
    server.faults.append(Fault("/points/count", delay=1.3))
    with pytest.raises(StoreError, match=r"http://127.0.0.1:\d+ has not answered within 1 s"):
        remote.count("notes")


def test_a_broken_connection_is_named(server, remote):
    server.faults.append(Fault("/points/count", times=3, drop=True))
    with pytest.raises(StoreError, match=r"The connection to http://127.0.0.1:\d+ broke"):
        remote.count("notes")


def test_a_refused_point_is_not_sent_again(server, remote):
    server.faults.append(Fault("PUT /collections/notes/points", times=9, status=400, text="Wrong input: too long"))
    with pytest.raises(StoreError, match=r"refuses this \(400\): Wrong input: too long"):
        remote.upsert("notes", [point(1)])
    assert server.faults[0].times == 8


def test_what_does_not_fit_is_not_sent(server, remote):
    with pytest.raises(StoreError, match="another embedding model"):
        remote.upsert("notes", [Point(key(1), {"content": [1.0]}, {})])
    assert server.requests == []


def test_a_server_that_is_not_there(server):
    store = open_store(RemoteSource(server.url.replace(str(server.server.server_port), "9")))
    with pytest.raises(StoreError, match=r"No Qdrant server answers at http://127.0.0.1:9 \(.*refused.*\)"):
        store.collections()


def test_a_server_that_is_another(server, remote):
    server.faults.append(Fault("GET /collections", times=1, status=404, text="Not found"))
    with pytest.raises(StoreError, match=r"refuses this \(404\): Not found"):
        remote.collections()


def test_the_key_comes_from_the_environment_and_is_never_told(monkeypatch):
    with QdrantServer(key="s3cret-key") as server:
        told = []
        for given, expected in (
            ("", "requires a key: set QDRANT_API_KEY"),
            ("wr0ng-key", "refuses the key in QDRANT_API_KEY"),
        ):
            monkeypatch.setenv("QDRANT_API_KEY", given)
            with pytest.raises(StoreError, match=expected) as error:
                open_store(RemoteSource(server.url)).collections()
            told += [str(error.value), *format_exception(error.value), repr(error.value.__cause__)]
        monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
        store = open_store(RemoteSource(server.url))
        assert store.collections() == []
        server.faults.append(Fault(status=400, text="you said s3cret-key"))
        with pytest.raises(StoreError, match=r"you said .the key in QDRANT_API_KEY.") as error:
            store.collections()
        told += [str(error.value), *format_exception(error.value), repr(RemoteSource(server.url)), repr(store)]
        assert not [text for text in told if "s3cret" in text or "wr0ng" in text]


def test_the_key_does_not_go_through_the_internet_for_all_to_read(monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
    with pytest.raises(StoreError, match=r"http://qdrant.example.org:6333 would get it unencrypted") as error:
        open_store(RemoteSource("http://qdrant.example.org"))
    assert "s3cret" not in str(error.value)
    monkeypatch.setenv("QDRANT_URL", "https://qdrant.example.org")
    for url in ("https://qdrant.example.org", "http://qdrant:6333", "http://10.0.0.7", "http://localhost"):
        open_store(RemoteSource(url)).close()


def test_an_old_server_remembers_metadata_too(monkeypatch):
    """Servers before 1.16 drop the metadata of a collection, so they go into a collection of ours."""
    with QdrantServer(old=True) as server:
        store = open_store(RemoteSource(server.url))
        store.create("notes", SPEC, {"embedding": "é"}, INDEXES)
        store.create("plain", SPEC, {}, INDEXES)
        assert store.collections() == ["notes", "plain"]
        assert (store.metadata("notes"), store.metadata("plain")) == ({"embedding": "é"}, {})
        store.drop("notes")
        assert store.metadata("notes") is None
        store.create("notes", SPEC, {}, INDEXES)
        assert store.metadata("notes") == {}
        with pytest.raises(StoreError, match="uses itself"):
            store.drop("lmm-collections")


def test_the_fields_of_a_collection_are_indexed_on_a_server(server):
    store = open_store(RemoteSource(server.url))
    store.create("notes", SPEC, {}, INDEXES)
    indexed = {body["field_name"]: body["field_schema"] for body in server.bodies if "field_name" in body}
    assert indexed == INDEXES


def test_the_port_is_the_urls_or_the_one_given():
    assert RemoteSource("https://a.org").address == "https://a.org:6333"
    assert RemoteSource("https://a.org", 443).address == "https://a.org:443"
    assert RemoteSource("http://user:pw@a.org:80/base", 9).address == "http://a.org:80/base"


def test_a_file_cannot_have_the_key_sent_to_a_server_of_its_author(monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "secret-of-mine")
    file = str(Path("config.toml").absolute())
    assert RemoteSource("http://127.0.0.1", file=file).key() == "secret-of-mine"
    for url in ("https://evil.example.org", "https://x.cloud.qdrant.io", "https://10.0.0.7", "https://qdrant"):
        with pytest.raises(StoreError, match=r"lmm config trust .*:6333 QDRANT_API_KEY .*QDRANT_URL") as caught:
            RemoteSource(url, file=file).key()
        assert "secret-of-mine" not in str(caught.value)
        assert RemoteSource(url).key() == "secret-of-mine"  # as the person says, in code
    monkeypatch.setenv("QDRANT_URL", "https://mine.example.org:6333")
    assert RemoteSource("https://mine.example.org", file=file).key() == "secret-of-mine"
    for url in ("https://mine.example.org:443", "http://qdrant:6333"):
        with pytest.raises(StoreError):
            RemoteSource(url, file=file).key()
