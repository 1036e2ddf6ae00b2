"""Every encoding in every place: upload, query, and `lmm search`."""

import asyncio
import json

import pytest

from lmm_core.errors import ReportedError
from lmm_core.indexing.api import client_from_config, global_client_from_config, markdown_upload
from lmm_core.indexing.documents import blocklist_encode
from lmm_core.indexing.encoding import VERSION, EncodingModel, QdrantEmbeddingModel
from lmm_core.indexing.stores import project_store
from lmm_core.logging import ExceptionLogger, ListLogger
from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.models.embedders.embedder import Sparse
from lmm_core.settings.config import ConfigSettings
from lmm_core.settings.project import load_project, project_from
from lmm_core.store.opening import open_store
from lmm_core.store.places import LocalStorage
from lmm_core.vector_store_qdrant import (
    aquery,
    aquery_grouped,
    aupload,
    encoder_from,
    initialize_collection,
    points_to_blocks,
    query,
    query_grouped,
    upload,
)
from tests.commands import text, write
from tests.indexing import LONG, MINILM, counts, document, found, lmm, section, send

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


def chunks(encoding=EncodingModel.BM25):
    return blocklist_encode(parse_markdown_text(NOTES), encoding=encoding, docid="notes.md", source="notes.md")


# Encodings


@pytest.mark.slow
@with_minilm
@pytest.mark.parametrize("encoding", list(EncodingModel))
def test_every_encoding_in_every_place(encoding, minilm):
    config, results = ConfigSettings(embeddings={"encoding": str(encoding)}), []
    for place in (":memory:", LocalStorage("index")):
        store = open_store(place)
        made = chunks(encoding)
        assert len(upload(store, "chunks", config, made.chunks)) == len(made.chunks) == 4
        upload(store, "documents", QdrantEmbeddingModel.UUID, made.documents)
        if encoding is EncodingModel.NONE:
            with pytest.raises(ReportedError, match="cannot be searched by text"):
                query(store, "chunks", config, "variance", logger=ExceptionLogger())
        else:
            text = "spread: how far do values lie apart? the mean of squared deviations"
            results.append([point.payload["page_content"] for point in query(store, "chunks", config, text)])
            (around,) = query_grouped(store, "chunks", "documents", config, text, 1)
            assert "squared deviations" in around.payload["page_content"] + results[-1][0]
            assert "Spread" in around.payload["titles"]
        store.close()
    assert results[1:] == results[:1]


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
    printed, _ = lmm("search 'squared deviations' -k 1")
    head, place, *snippet = printed.rstrip("\n").split("\n")
    assert head.endswith("  Statistics > Spread")
    path, lines = place.strip().split(":")
    first, last = map(int, lines.split("-"))
    there = "\n".join(text(path).splitlines()[first - 1 : last])
    assert " ".join(map(str.strip, snippet)) == there
    assert float(head.split()[0]) > 0


def test_results_are_limited_and_filtered(notes):
    write("part/other.md", document("variance", "median"))
    lmm("index notes.md part")
    assert len(found("variance -k 1")) == 1
    assert {one.get("type") for one in found("variance")} == {None, "summary", "exercise"}
    assert [one["type"] for one in found("variance --type exercise")] == ["exercise"]
    assert {one.get("type") for one in found("variance --no-type")} == {None}
    assert {one["source"] for one in found("variance --under part/other.md")} == {"part/other.md"}
    assert {one["section_path"][-1] for one in found("variance --under 2")} == {"2"}
    assert found("variance --under 9") == []


def test_the_values_of_a_key_are_counted(notes):
    write(
        "part/other.md",
        "---\nlevel: 2\n---\n\n---\nlevel: 3\n---\n# One\n\nText.\n\n---\nlevel: 3\n---\n# Two\n\nMore.\n",
    )
    lmm("index notes.md part")
    types, told = lmm("search --values type")
    assert types == "     1  exercise\n     1  summary\n"
    assert told.endswith(" without type\n")
    assert json.loads(lmm("search --values level --json")[0]) == {"3": 2}
    assert set(json.loads(lmm("search --values source --json")[0])) == {"notes.md", "part/other.md"}
    _, told = lmm("search --values page_content", status=1)
    assert "no chunk has a key 'page_content' whose values can be listed; there are anchor, " in told
    assert "takes no" in lmm("search --values type -k 3", status=2)[1]


def test_a_type_keyword_puts_the_type_first(notes):
    lmm("index notes.md")
    assert found("median")[0].get("type") is None
    assert found("'median *exercise*'")[0]["type"] == "exercise"
    assert found("'*Summary* of the variance'")[0]["type"] == "summary"
    plain, boosted = found("median"), found("'*exercise* median'")
    assert {one["id"] for one in plain} == {one["id"] for one in boosted}
    assert found("'*median*'")[0]["titles"] == ["Statistics", "About median"]  # no type: emphasis


def test_groups_are_whole_sections_and_each_comes_once(notes):
    lmm("index notes.md")
    groups = found("variance --group")
    assert len({one["id"] for one in groups}) == len(groups)
    assert any("squared deviations" in one["page_content"] for one in groups)
    (around,) = found("dispersion --group -k 1")  # a summary stands for its section
    assert "squared deviations" in around["page_content"]


def test_what_cannot_be_searched_is_told_in_a_sentence(notes):
    assert lmm("search variance", status=1)[1] == "nothing is indexed here yet; to index the notes: lmm index .\n"
    lmm("index notes.md")
    assert "The query is empty" in lmm("search ' '", status=2)[1]
    assert found("'the of and'") == []
    assert found("'!?'") == []


# From Python


def test_the_functions_as_the_seeds_have_them(notes):
    client = client_from_config(ConfigSettings(storage={"memory": True}))
    made = chunks().chunks
    assert initialize_collection(client, "mine", QdrantEmbeddingModel.BM25)
    points = upload(client, collection_name="mine", model=QdrantEmbeddingModel.BM25, chunks=made)
    assert [point.id for point in points] == [chunk.uuid for chunk in made]
    assert isinstance(points[0].vectors["sparse"], Sparse)
    best = query(client, collection_name="mine", model=QdrantEmbeddingModel.BM25, querytext="deviations", limit=2)
    assert "squared deviations" in best[0].payload["page_content"]
    with pytest.raises(ReportedError, match="made otherwise"):
        query(client, "mine", QdrantEmbeddingModel.SPARSE, "deviations", logger=ExceptionLogger())
    client.close()


def test_the_functions_have_asynchronous_forms(notes):
    async def work():
        client = open_store(":memory:")
        made = chunks()
        await aupload(client, "mine", QdrantEmbeddingModel.BM25, made.chunks)
        await aupload(client, "around", QdrantEmbeddingModel.UUID, made.documents)
        one = await aquery(client, "mine", QdrantEmbeddingModel.BM25, "deviations", 1)
        other = await aquery_grouped(client, "mine", "around", QdrantEmbeddingModel.BM25, "deviations", 1)
        same = query(client, "mine", QdrantEmbeddingModel.BM25, "deviations", 1)  # a loop is running: a notebook
        client.close()
        return one, other, same

    one, other, same = asyncio.run(work())
    assert one == same
    assert one[0].payload["page_content"] in other[0].payload["page_content"]


def test_an_encoder_knows_the_collections_encoding_and_language():
    client = open_store(":memory:")
    made = encoder_from(client, "mine", ConfigSettings(embeddings={"language": "de"}))
    initialize_collection(client, "mine", made)
    again = encoder_from(client, "mine", QdrantEmbeddingModel.BM25)
    assert (again.encoding, again.sparse.language) == (EncodingModel.BM25, "en")
    assert encoder_from(client, "mine", again) is again
    client.close()


def test_points_as_markdown_can_be_read_again(notes):
    store = open_store(":memory:")
    send(store, "notes.md")
    points = query(store, "chunks", project_from(None), "variance", 3)
    blocks = parse_markdown_text(serialize_blocks(points_to_blocks(points)))
    texts = [block.source.strip() for block in blocks if type(block).__name__ == "TextBlock"]
    assert texts == [point.payload["page_content"] for point in points]
    metadata = [block.content for block in blocks if type(block).__name__ == "MetadataBlock"]
    assert [one["line_start"] for one in metadata] == [point.payload["line_start"] for point in points]


def test_markdown_upload_takes_settings_in_code(notes):
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "mine"})
    assert markdown_upload(["notes.md"], config).written == 4
    assert markdown_upload([notes], config).unchanged == 4
    client = global_client_from_config(config)
    assert client is global_client_from_config(config)
    assert "mine" in client.collections()


def test_markdown_upload_reports_and_returns_nothing(notes):
    write("other.md", NOTES.replace("title: Statistics", "docid: notes.md"))
    logger = ListLogger()
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "twice"})
    assert markdown_upload(["notes.md", "other.md"], config, logger=logger) is None
    assert "the same docid" in json.dumps([report.message for report in logger.reports])
