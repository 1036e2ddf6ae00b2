"""Every encoding in every place: upload, query, and `lmm search`."""

import pytest

from lmm_core.indexing.collection import project_store
from lmm_core.indexing.encoding import VERSION
from lmm_core.settings.project import load_project
from tests.commands import text, write
from tests.indexing import LONG, MINILM, counts, document, found, lmm, section

NOTES = f"""---
title: Statistics
---

{section("median")}
---
~summary: Dispersion is told by the variance.
questions: How far do values lie apart?
---

# Spread

The variance is the mean of squared deviations, {LONG}

---
type: exercise
---

Compute the variance of 1, 2 and 9, and say what the median of them is, {LONG}
"""
with_minilm = pytest.mark.skipif(not MINILM.is_dir(), reason="no model beside the repository")


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.qdrant)])
def notes(request, monkeypatch):
    """A file to be indexed, in a folder or on a server."""
    if request.param == "server":
        monkeypatch.setenv("LMM_STORAGE__URL", request.getfixturevalue("qdrant"))
    return write("notes.md", NOTES)


@pytest.fixture
def minilm(monkeypatch):
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", f"fastembed/{MINILM}")


# Encodings


@pytest.mark.slow
@with_minilm
def test_the_default_encoding_is_hybrid_with_a_model_and_follows_the_collection(notes, minilm, monkeypatch):
    lmm("index notes.md")
    assert found("'scatter of numbers' -k 1")[0]["titles"] == ["Statistics", "Spread"]
    store = project_store(load_project(None))
    assert store.metadata("chunks") == {
        "encoding": "hybrid", "vectors": "hybrid", "embedding": f"fastembed/{MINILM}", "sparse": "bm25",
        "version": VERSION,
    }  # fmt: skip
    store.close()
    monkeypatch.delenv("LMM_MODEL_EMBEDDING")
    assert found("'scatter of numbers' -k 1")[0]["titles"] == ["Statistics", "Spread"]
    assert counts("notes.md") == (0, 0, 0, 4, 0)
    monkeypatch.setenv("LMM_MODEL_EMBEDDING", "none")
    _, told = lmm("index notes.md", status=1)
    assert "needs an embedding model" in told


# `lmm search`


def test_what_is_printed_stands_in_the_file(notes):
    lmm("index notes.md")
    printed, _ = lmm("search squared deviations -k 1")
    head, place, *snippet = printed.rstrip("\n").split("\n")
    assert head == "Statistics > Spread"
    path, lines = place.strip().split(":")
    first, last = map(int, lines.split("-"))
    there = "\n".join(text(path).splitlines()[first - 1 : last])
    assert " ".join(map(str.strip, snippet)) == there
    assert "nothing found" in lmm("search xylophone")[1] and found("xylophone") == []
    assert "write -- before words that begin with a dash" in lmm("search --spread", status=2)[1]


def test_results_are_limited_and_filtered(notes):
    write("part/other.md", document("variance", "median"))
    lmm("index notes.md part")
    assert len(found("variance -k 1")) == 1
    assert {hit.get("type") for hit in found("variance")} == {None, "summary", "exercise"}
    assert [hit["type"] for hit in found("variance --type exercise")] == ["exercise"]
    assert {hit["source"] for hit in found("variance --under part/other.md")} == {"part/other.md"}
    assert {hit["section_path"][-1] for hit in found("variance --under 2")} == {"2"}
    assert found("xylophone --under 2") == []


@pytest.mark.parametrize("under, place", [("9", "section 9"), ("part/other.md", "file part/other.md")])
def test_a_section_or_file_that_is_not_in_the_index_is_named(notes, under, place):
    lmm("index notes.md")
    assert f"there is no {place} in the index" in lmm(f"search variance --under {under}", status=1)[1]


def test_a_type_keyword_finds_the_type_alone(notes):
    lmm("index notes.md")
    assert found("median")[0].get("type") is None
    assert [hit["type"] for hit in found("'variance *exercise*'")] == ["exercise"]
    assert found("'*Summary* of the variance'")[0]["type"] == "summary"
    assert found("'*median*'")[0]["titles"] == ["Statistics", "About median"]  # no type: emphasis


def test_groups_are_whole_sections_and_each_comes_once(notes):
    lmm("index notes.md")
    groups = found("variance --group")
    assert len({one["id"] for one in groups}) == len(groups)
    assert any("squared deviations" in one["page_content"] for one in groups)
    (around,) = found("dispersion --group -k 1")  # a summary stands for its section
    assert "squared deviations" in around["page_content"]


def test_what_cannot_be_searched_or_is_not_found_is_told_in_a_sentence(notes):
    assert lmm("search variance", status=1) == (
        "",
        "Error: Nothing is indexed here yet. To index the notes, run: lmm index .\n",
    )
    lmm("index notes.md")
    assert "The query is empty" in lmm("search ' '", status=2)[1]
    assert found("'the of and'") == found("'!?'") == []
    assert lmm("search zzzz") == ("", "nothing found for 'zzzz'\n")
    for told in (lmm("search '*exrcise* variance'"), lmm("ask '*exrcise* variance'")):
        assert "no material of the type 'exrcise'; types of material in the collection: exercise" in told[1]
    assert "no material" not in lmm("search '*really* variance'")[1]
    assert lmm("search --type exercize variance", status=1)[1] == (
        "Error: there is no material of the type 'exercize'; types of material in the collection: exercise, summary\n"
    )
