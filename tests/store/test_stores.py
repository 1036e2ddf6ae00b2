"""Every place keeps and finds the same: memory, a folder, and a real server."""

import pytest

from lmm_core.errors import StoreError
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.store import edge_engine, edge_store
from lmm_core.store.places import LocalStorage, RemoteSource, open_store
from lmm_core.store.vector_store import Point, Search, VectorSpec, Where, is_server
from tests.effort import PATIENCE, wait_for
from tests.store.points import DIMENSIONS, INDEXES, SPEC, ids, key, near, point, random_points, random_searches

pytestmark = pytest.mark.xdist_group("qdrant_client")
SERVER = pytest.param("server", marks=pytest.mark.qdrant)


def opened(place, request):
    """Return a store at a place, which is closed when the test ends."""
    if place == "server":
        store = open_store(RemoteSource(request.getfixturevalue("qdrant")))
    else:
        folder = LocalStorage(request.getfixturevalue("tmp_path") / "index")
        store = open_store(":memory:" if place == "memory" else folder)
    request.addfinalizer(store.close)
    return store


@pytest.fixture(params=["memory", "folder", SERVER])
def store(request):
    return opened(request.param, request)


@pytest.fixture
def notes(store):
    """Return a store with the empty collection `notes`."""
    store.create("notes", SPEC, {"encoding": "hybrid"}, INDEXES)
    return store


# What is kept


def test_collections_are_made_listed_and_dropped(store):
    assert store.collections() == []
    store.create("notes", SPEC, {}, {})
    store.create("documents", VectorSpec(), {}, {})
    assert store.collections() == ["documents", "notes"]
    store.upsert("notes", [point(1)])
    store.drop("notes")
    store.drop("notes")
    assert store.collections() == ["documents"]
    assert store.metadata("notes") is None
    store.create("notes", VectorSpec(dense={"content": 3}), {}, {})
    assert store.count("notes") == 0


def test_metadata_comes_back_as_it_was_given(store):
    given = {"embedding": "fastembed/ü", "dimensions": 8, "nested": {"a": [1, None, True, 0.5]}}
    store.create("notes", SPEC, given, {})
    got = store.metadata("notes")
    assert got == given
    store.create("plain", SPEC, {}, {})
    assert store.metadata("plain") == {}


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
    assert notes.search("notes", Search({"content": near(1)}, limit=1))[0].payload == payload


def test_points_are_retrieved_replaced_and_deleted_by_their_ids(notes):
    notes.upsert("notes", [point(1, payload={"old": 1}), point(2), point(3)])
    notes.upsert("notes", [point(1, payload={"new": 1}, content=near(9))])
    assert notes.retrieve("notes", [key(1)])[0].payload == {"new": 1}
    assert ids(notes.search("notes", Search({"content": near(9)}, limit=1))) == [1]
    assert ids(notes.retrieve("notes", [key(3), key(99), key(1).replace("-", "").upper()])) == [3, 1]
    assert notes.retrieve("notes", []) == []
    notes.delete("notes", [key(2).upper(), key(99)])
    notes.delete("notes", [])
    assert ids(notes.scroll("notes")) == [1, 3]


def test_set_payload_puts_whole_payloads_in_place(notes):
    notes.upsert("notes", [point(n, payload={"line": n, "type": "text"}) for n in range(1, 600)])
    notes.set_payload("notes", {key(n): {"line": n + 1} for n in range(2, 700)})
    assert [found.payload for found in notes.scroll("notes")][:3] == [
        {"line": 1, "type": "text"}, {"line": 3}, {"line": 4}
    ]  # fmt: skip
    assert notes.count("notes") == 599
    assert ids(notes.scroll("notes", Where(all={"type": "text"}))) == [1]


def test_scroll_gives_all_in_the_order_of_ids(notes):
    points = random_points(1100)
    notes.upsert("notes", points)
    found = list(notes.scroll("notes", keys=["sequence"]))
    assert [each.id for each in found] == sorted(each.id for each in points)
    assert set(found[0].payload) == {"sequence"}
    assert found[0].score == 0


def test_where_and_facet(notes):
    for n, kind in enumerate(["text", "exercise", "text", None], start=1):
        notes.upsert("notes", [point(n, payload={"sequence": n} | ({"type": kind} if kind else {}))])

    def fitting(**where):
        fits = Where(**where)
        found = ids(notes.scroll("notes", fits))
        assert sorted(ids(notes.search("notes", Search({"content": near(1)}, 9, where=fits)))) == found
        return found

    assert fitting(all={"type": "text"}) == [1, 3]
    assert fitting(all={"type": ["text", "exercise"]}) == [1, 2, 3]
    assert fitting(all={"sequence": [1, 4, 9]}) == [1, 4]
    assert fitting(none={"type": ["text"]}) == [2, 4]
    assert fitting(all={"type": "text"}, none={"sequence": 1}) == [3]
    assert fitting(all={"type": []}) == []
    assert fitting(none={"type": []}) == [1, 2, 3, 4]
    assert notes.facet("notes", "type") == {"exercise": 1, "text": 2}


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
    """On a server, they do until a segment is rebuilt, which it is when a tenth of its vectors are removed ones."""
    many = 100 if is_server(notes) else 1
    notes.upsert("notes", [point(n, words=[1] if n < 60 * many else [2]) for n in range(many, 70 * many)])

    def score():
        return notes.search("notes", Search({"words": Sparse([2], [1.0])}, limit=1))[0].score

    assert score() == pytest.approx(1.897, abs=0.04)
    notes.delete("notes", [key(n) for n in range(many, 55 * many)])
    # ln(1 + (15 - 10 + 0.5) / (10 + 0.5)), of 15 points of which 10 have the word
    wait_for(lambda: score() == pytest.approx(0.4212, abs=0.04), PATIENCE if is_server(notes) else 0)


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


@pytest.mark.slow
@pytest.mark.parametrize("place", ["folder", "folder of many segments", SERVER])
def test_all_places_find_the_same_in_the_same_order(place, request, monkeypatch):
    """The points have many twins; some were written twice, and some removed."""
    if place == "folder of many segments":
        monkeypatch.setattr(edge_store, "SEGMENT", 50)
        monkeypatch.setattr(edge_engine, "IN_MEMORY", 1)
    points, newer, searches = random_points(400), random_points(400, seed=2), list(random_searches(30))
    replaced = [Point(old.id, new.vectors, new.payload) for old, new in zip(points[:200], newer[:200], strict=True)]
    before, after = [], []
    for store in (opened("memory", request), opened(place, request)):
        store.create("notes", SPEC, {}, INDEXES)
        store.upsert("notes", points)
        before.append([store.search("notes", search) for search in searches])
        store.upsert("notes", replaced)
        store.delete("notes", [each.id for each in points[100:300]])
        # a server weighs words by removed points, too, until it rebuilds a segment
        same = [search for search in searches if place != "server" or "words" not in search.vectors]
        after.append([store.search("notes", search) for search in same])
    for results in (before, after):
        for memory, other in zip(*results, strict=True):
            assert [(each.id, each.payload) for each in other] == [(each.id, each.payload) for each in memory]
            assert [each.score for each in other] == pytest.approx([each.score for each in memory], abs=1e-4)


# What does not fit


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Point("no-uuid", {}, {}), "'no-uuid' cannot be the id"),
        (Point(key(2), {"content": [1.0, 2.0]}, {}), "has 2 dimensions, the collection's has 8: .* another embedding"),
        (Point(key(2), {"parts": []}, {}), "'parts' is a multivector without vectors"),
        (Point(key(2), {"words": Sparse([1, 1], [1.0, 2.0])}, {}), "each index once"),
        (Point(key(2), {"other": near(1)}, {}), "no vector 'other' .*: content, parts, words"),
        (Point(key(2), {"content": [float("nan")] * DIMENSIONS}, {}), "'content' holds something that is not a number"),
    ],
)
def test_a_point_that_does_not_fit_is_named_and_nothing_written(notes, wrong, told):
    with pytest.raises(StoreError, match=told):
        notes.upsert("notes", [point(1), wrong, point(3)])
    assert notes.count("notes") == 0


def test_what_is_not_there_is_said_by_every_method(store):
    for use in (
        lambda: store.upsert("gone", [point(1)]),
        lambda: list(store.scroll("gone")),
        lambda: store.count("gone"),
    ):
        with pytest.raises(StoreError, match="There is no collection 'gone'"):
            use()
