"""Documents and code of LM markdown: what is read as there, and what differs as docs/lm-markdown.md says."""

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from lmm_core import (
    AnnotationModel,
    ConfigSettings,
    EncodingModel,
    LocalStorage,
    RemoteSource,
    ScanOpts,
    blocklist_encode,
    blocks_to_chunks,
    client_from_config,
    initialize_collection,
    markdown_rag,
    markdown_scan,
    markdown_upload,
    parse_markdown_text,
    query,
    query_grouped,
    scan_split,
    upload,
)
from lmm_core.errors import ReportedError
from lmm_core.indexing.api import blocklist_upload
from lmm_core.logging import ExceptionLogger, ListLogger
from lmm_core.vector_store_qdrant import QdrantEmbeddingModel, aquery
from tests.commands import text, write
from tests.embedding_server import EmbeddingServer
from tests.indexing import lmm

pytestmark = pytest.mark.xdist_group("qdrant_client")
REGRESSION = """---
title: Regression
docid: regression
---

---
~summary: How models predict.
---

# Models

## Logistic regression

The main uses of logistic regression are to predict a yes or no, and to tell which causes matter for it.

## Linear regression

A line is laid through points, so that the squares of what is left over are as small as they can be.
"""


@pytest.fixture
def qdrant_client():
    import qdrant_client

    return qdrant_client


@pytest.fixture
def client(qdrant_client):
    with_it = qdrant_client.QdrantClient(":memory:")
    yield with_it
    with_it.close()


def vectors(size):
    from qdrant_client.models import Distance, VectorParams

    return VectorParams(size=size, distance=Distance.COSINE)


def bm25_chunks():
    return blocks_to_chunks(parse_markdown_text(REGRESSION), "bm25", AnnotationModel(), ListLogger())


def in_memory(collection="chunks"):
    return ConfigSettings(storage={"memory": True}, database={"collection_name": collection})


def text_of(point):
    return point.payload["page_content"]


# Documents


def test_an_index_of_lm_markdown_is_not_touched(qdrant_client):
    made = qdrant_client.QdrantClient(path="storage")
    made.create_collection("chunks", vectors_config={"content": vectors(2)})
    made.close()
    before = {path: path.read_bytes() for path in Path("storage").rglob("*") if path.is_file()}
    write("config.toml", '[storage]\nfolder = "./storage"\n')
    write("Lecture01.md", REGRESSION)
    assert "nothing in it is touched" in lmm("index .", status=1)[1]
    assert before == {path: path.read_bytes() for path in Path("storage").rglob("*") if path.is_file()}


# The client of an index


@pytest.mark.parametrize("storage", [LocalStorage("./storage"), RemoteSource("http://localhost", 21465)])
def test_the_storage_of_a_client_is_a_value(storage):
    opened = client_from_config(ConfigSettings(storage=storage))
    assert opened is not None
    opened.close()


def test_chunks_are_uploaded_and_queried_by_a_model(monkeypatch):
    """With the names of arguments, and the model that the environment names."""
    chunks = blocks_to_chunks(
        blocklist=parse_markdown_text(REGRESSION), encoding_model=EncodingModel.CONTENT, annotation_model=["titles"]
    )
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "openai/text-embedding-3-small")
        opened = client_from_config(in_memory())
        dense = {"collection_name": "documents", "model": QdrantEmbeddingModel.DENSE}
        points = upload(opened, chunks=chunks, **dense)
        found = query(opened, querytext="What are the main uses?", limit=2, payload=True, **dense)
        opened.close()
    assert [point.id for point in points] == [chunk.uuid for chunk in chunks]
    assert len(found) == 2


def test_a_qdrant_client_of_a_folder_is_taken_and_a_closed_one_is_told(qdrant_client):
    client = qdrant_client.QdrantClient(path="storage")
    for _ in range(2):  # that it is there is fine
        assert initialize_collection(client, "documents", QdrantEmbeddingModel.BM25, ExceptionLogger())
    assert len(upload(client, "documents", "bm25", bm25_chunks())) == 3
    client.close()
    client = qdrant_client.QdrantClient(path="storage")
    assert "logistic" in text_of(query(client, "documents", "bm25", "logistic")[0])
    client.close()
    assert query(client, "documents", "bm25", "logistic", logger=(logger := ListLogger())) == []
    assert "closed" in str(logger.reports[0])


def test_a_collection_of_somebody_else_is_told_in_a_sentence(client):
    logger = ListLogger()
    client.create_collection("documents", vectors_config=vectors(4))
    assert query(client, "documents", "bm25", "logistic", logger=logger) == []
    assert not initialize_collection(client, "documents", "bm25", logger)
    assert all("was not made by LM markdown" in str(report) for report in logger.reports)
    with pytest.raises(ReportedError, match="initialize_collection"):
        upload(client, "documents", "bm25", bm25_chunks(), ExceptionLogger())


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda client: upload(client, "c1", "bm26", []), "model"),
        (lambda client: asyncio.run(aquery(client, "c1", "bm25", "x", "six")), "limit"),
    ],
)
def test_a_wrong_argument_is_named(call, argument, client):
    with pytest.raises(ValidationError) as caught:
        call(client)
    assert {str(error["loc"][0]) for error in caught.value.errors()} == {argument}


# Documents into an index


def test_a_document_is_uploaded_by_its_name_its_path_and_its_blocks():
    write("s.md", REGRESSION)
    config = in_memory("given")
    assert markdown_upload("s.md", config).written == 3
    for same in (Path("s.md"), ["s.md"]):
        assert markdown_upload(same, config).unchanged == 3
    other = parse_markdown_text(REGRESSION.replace("docid: regression", "docid: other"))
    assert blocklist_upload(other, config).written == 3


def test_the_steps_of_ingestion_on_a_course(sample_book, monkeypatch, client):
    monkeypatch.chdir(sample_book)
    file, logger = "02-describing.md", ExceptionLogger()
    assert markdown_scan(file)
    blocks = markdown_rag(file, ScanOpts(questions=True, titles=True))
    assert "~titles" in text(file)
    assert len(blocks_to_chunks(scan_split(blocks), EncodingModel.BM25, ["titles", "questions"])) > 1
    encoded = blocklist_encode(blocks, in_memory(), ListLogger())
    upload(client, "chunks", "bm25", encoded.chunks, logger)
    upload(client, "documents", QdrantEmbeddingModel.UUID, encoded.documents, logger)
    around = query_grouped(client, "chunks", "documents", "bm25", "the median", 1, logger=logger)
    assert "median" in text_of(around[0])
    assert markdown_upload([file], in_memory("course")).written == len(encoded.chunks)
