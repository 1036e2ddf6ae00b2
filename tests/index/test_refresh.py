"""Refreshing: what is written, in which order, and what remains after a failure."""

from contextlib import suppress

import pytest

from lmm_core.errors import StoreError
from lmm_core.store.places import open_store
from tests.commands import write
from tests.indexing import WRITES, FailingStore, document, send, without_time

pytestmark = pytest.mark.xdist_group("qdrant_client")
WORDS = [f"word{number}" for number in range(12)]


@pytest.fixture
def store():
    store = open_store(":memory:")
    yield store
    store.close()


def contents(store, collection="chunks"):
    return sorted(point.payload["page_content"] for point in store.scroll(collection))


def paragraphs(content):
    return [line for line in content.splitlines() if line.startswith("Here")]


def test_the_same_again_writes_nothing(store):
    write("notes.md", document(*WORDS))
    assert send(store, "notes.md").written == 12
    unwritable = FailingStore(store, 0, WRITES)
    again = send(unwritable, "notes.md")
    assert (again.written, again.unchanged, again.documents, again.same) == (0, 12, 0, 1)


def test_reversed_sections_move(store):
    write("notes.md", document(*WORDS))
    send(store, "notes.md")
    before = {point.id: point.payload["page_content"] for point in store.scroll("chunks")}
    write("notes.md", document(*WORDS[::-1]))
    counts = send(store, "notes.md")
    assert (counts.written, counts.removed, counts.moved) == (0, 0, 12)
    assert {point.id: point.payload["page_content"] for point in store.scroll("chunks")} == before
    order = sorted(store.scroll("chunks"), key=lambda point: point.payload["sequence"])
    assert [point.payload["titles"][-1] for point in order] == [f"About {word}" for word in WORDS[::-1]]


@pytest.mark.parametrize("after", [0, 3])
@pytest.mark.parametrize("method", ["write_ahead", "upsert", "set_payload", "delete"])
def test_a_failure_leaves_the_old_version_complete_and_the_next_run_completes(store, method, after):
    old = {"notes.md": document(*WORDS), "other.md": document("other")}
    new = {"notes.md": document("new", *WORDS[1:], "newer"), "other.md": document("another")}
    for path, content in old.items():
        write(path, content)
    send(store, *old)
    for path, content in new.items():
        write(path, content)
    with suppress(StoreError):
        send(FailingStore(store, after, (method,)), *new)
    for path in old:
        there = {one.payload["page_content"] for one in store.scroll("chunks") if one.payload["source"] == path}
        assert any(set(paragraphs(version[path])) <= there for version in (old, new))
    send(store, "notes.md", "other.md")
    assert len(contents(store)) == 14
    assert sum("new" in text for text in contents(store)) == 2
    assert {point.payload["document"] for point in store.scroll("chunks")} == {
        point.id for point in store.scroll("documents")
    }
    assert send(store, "notes.md", "other.md").unchanged == 14


def test_documents_that_swap_their_ids_end_well(store):
    write("a.md", document("alpha", header="docid: one"))
    write("b.md", document("beta", header="docid: two"))
    send(store, "a.md", "b.md")
    write("a.md", document("alpha", header="docid: two"))
    write("b.md", document("beta", header="docid: one"))
    send(store, "a.md", "b.md")
    found = {point.payload["source"]: point.payload["docid"] for point in store.scroll("chunks")}
    assert found == {"a.md": "two", "b.md": "one"}
    assert send(store, "a.md", "b.md").unchanged == 2


def everything(store):
    """Return all points of all collections, without the time at which they were written."""
    return {name: {one.id: without_time(one.payload) for one in store.scroll(name)} for name in store.collections()}


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_file_that_goes_back_after_a_run_that_failed_is_what_it_was(store, after):
    old = document("alpha", "beta")
    write("notes.md", old)
    send(store, "notes.md")
    wanted = everything(store)
    write("notes.md", document("alpha", "gamma", header="docid: other"))
    with suppress(StoreError):
        send(FailingStore(store, after, WRITES), "notes.md")
    write("notes.md", old)
    send(store, "notes.md")
    assert everything(store) == wanted


@pytest.mark.parametrize("lost", ["chunks", "documents", "chunks.files"])
def test_what_is_lost_is_made_again(store, lost):
    write("notes.md", document("alpha", "beta"))
    send(store, "notes.md")
    wanted = everything(store)
    store.drop(lost)
    send(store, "notes.md")
    assert everything(store) == wanted
