"""Indexes of an earlier version: `lmm index` makes them anew, and everything else says so."""

import json
from pathlib import Path

import pytest

from lmm_core.errors import StoreError
from lmm_core.indexing.api import client_from_config
from lmm_core.indexing.encoding import VERSION
from lmm_core.settings.project import load_project
from lmm_core.store.places import LocalStorage, open_store
from tests.commands import write
from tests.indexing import FailingStore, counts, document, lmm, send, stored

EARLIER = (
    "The collection 'chunks' was made by an earlier version of LM markdown. Run `lmm index FILES`, which rebuilds it."
)
ANEW = "warning: The index was made by an earlier version of LM markdown. It is rebuilt from "


def make_earlier(folder=".lmm/index", version=None, sparse="bm25/english"):
    """Make an index one that an earlier version wrote: other texts, and no version."""
    store = open_store(LocalStorage(folder))
    for name in ("chunks", "documents"):
        payload = {"docid": "x.md", "source": "x.md", "page_content": "Text of another time."}
        store.set_payload(name, {point.id: {**point.payload, **payload} for point in store.scroll(name)})
    store.close()
    for path in Path(folder).glob("*/collection.json"):
        record = json.loads(path.read_text())
        identity = record["metadata"]
        if identity:
            del identity["version"]
            identity |= {"version": version} if version else {}
            identity["sparse"] = identity["sparse"] and sparse
        path.write_text(json.dumps(record))


@pytest.fixture
def earlier():
    """An index of two files by an earlier version, and its points by the present one."""
    write("a.md", document("alpha", "beta"))
    write("b.md", document("gamma"))
    counts("a.md b.md")
    points = stored(), stored("documents")
    make_earlier()
    return points


def test_it_is_made_anew_of_all_its_files_though_one_is_named(earlier):
    _, notes = lmm("index a.md")
    assert notes.startswith(f"{ANEW}2 files\n")
    assert "2 documents, 3 chunks written, 0 removed, 0 unchanged" in notes
    assert (stored(), stored("documents")) == earlier


def test_what_the_project_no_longer_has_is_named(earlier):
    Path("b.md").unlink()
    _, stderr = lmm("index a.md")
    assert stderr.startswith(f"{ANEW}1 file, without 1 document that the project no longer has (b.md)\n")
    assert {one["source"] for one in stored().values()} == {"a.md"}
    write("b.md", document("gamma"))  # the record of it is still there, so that it comes back with its file
    assert counts("a.md")[0] == 1 and stored() == earlier[0]


def test_only_documents_of_the_project_are_read_whatever_a_record_names(earlier, tmp_path):
    outside = str(write(tmp_path.parent / "secret.md", document("secret")))
    Path("b.md").unlink()
    Path("b.md").symlink_to(outside)
    _, stderr = lmm("index a.md")
    assert "without 1 document that the project no longer has (b.md)" in stderr
    assert {one["source"] for one in stored().values()} == {"a.md"}


@pytest.mark.parametrize("command", ["ask alpha", "cards"])
def test_whatever_reads_it_says_so_in_a_sentence(earlier, command):
    assert lmm(command, status=1)[1] == f"Error: {EARLIER}\n"


@pytest.mark.parametrize(("method", "after"), [("drop", 1), ("write_ahead", 0), ("upsert", 1)])
def test_a_run_that_fails_is_ended_by_the_next_one_whichever_files_it_is_given(earlier, method, after):
    store = client_from_config()
    with pytest.raises(StoreError, match="disk is full"):
        send(FailingStore(store, after, (method,)), "a.md", "b.md", project=load_project(None))
    store.close()
    lmm("index a.md")
    assert (stored(), stored("documents")) == earlier
    assert counts("a.md b.md") == (0, 0, 0, 3, 0)


def test_another_encoding_is_an_error_and_nothing_changes(earlier):
    before = stored()
    write("config.toml", '[embeddings]\nencoding = "sparse"\n')
    for command in ("index a.md", "search alpha"):
        assert "'chunks' was made with other settings (encoding bm25, now sparse" in lmm(command, status=1)[1]
    assert stored() == before
    assert counts("--rebuild a.md b.md")[0] == 3


def test_a_later_version_is_an_error_that_says_what_to_do():
    write("a.md", document("alpha"))
    counts("a.md")
    make_earlier(version=VERSION + 1)
    assert "was made by a later version of LM markdown. Update this one" in lmm("index a.md", status=1)[1]
