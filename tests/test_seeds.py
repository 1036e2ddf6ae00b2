"""Code as the documents of LM markdown and of LM markdown for education write it, its imports alone adapted."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, VectorParams
from qdrant_client.models import ScoredPoint as QdrantPoint

from lmm_core import (
    AnnotationModel,
    Chunk,
    ConfigError,
    ConfigSettings,
    EncodingModel,
    HeaderNode,
    HeadingNode,
    LocalStorage,
    RemoteSource,
    ScanOpts,
    TextBlock,
    TextNode,
    blocklist_encode,
    blocks_to_chunks,
    blocks_to_tree,
    client_from_config,
    fold_post,
    global_client_from_config,
    initialize_collection,
    load_markdown,
    load_tree,
    map_tree,
    markdown_rag,
    markdown_scan,
    markdown_upload,
    parse_markdown_text,
    query,
    query_grouped,
    save_markdown,
    save_tree,
    scan_split,
    serialize_blocks,
    traverse,
    tree_to_blocks,
    upload,
)
from lmm_core.errors import ReportedError
from lmm_core.indexing.api import blocklist_upload
from lmm_core.logging import ExceptionLogger, ListLogger
from lmm_core.markdown import make_block
from lmm_core.models.chat import run
from lmm_core.vector_store_qdrant import QdrantEmbeddingModel, ScoredPoint, aquery, points_to_blocks
from tests.embedding_server import EmbeddingServer
from tests.qdrant_server import FailingServer

# LM markdown: files, blocks and trees


def test_a_file_is_read_changed_as_blocks_and_saved(tmp_path: Path) -> None:
    file, logger = str(tmp_path / "notes.md"), ListLogger()
    assert save_markdown(file, "# Means\n\nText.\n", logger)
    blocks = parse_markdown_text(load_markdown(file, logger) or "")
    assert serialize_blocks(blocks) == "# Means\n\nText.\n"
    tree = load_tree(file, logger)
    assert tree is not None and [child.title for child in tree.sections] == ["Means"]


NOTES = """\
preface

---
topic: means  # of what?
---

# Means

Add, then divide.

## Why?

---
by: hand
---

Because.
"""


def test_a_document_without_header_is_a_tree_with_a_titled_header_node() -> None:
    tree = blocks_to_tree(parse_markdown_text("Text first.\n"))
    assert isinstance(tree, HeaderNode) and tree.title
    assert serialize_blocks(tree_to_blocks(tree)) == "Text first.\n"
    assert blocks_to_tree([]) is None


def test_nodes_are_read_and_changed_and_the_tree_becomes_blocks_and_text_again(tmp_path: Path) -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    assert isinstance(tree, HeadingNode)
    why = tree.sections[0].sections[0]
    assert (why.title, why.level, why.parent is tree.sections[0], why.fetch("topic")) == ("Why?", 2, True, "means")
    assert why.texts[0].get("by") == "hand"
    by_model = make_block("by: model\n", "native")
    text = TextBlock("Because it is.\n")
    made = map_tree(tree, lambda node: [by_model, text] if node is why.texts[0] else node.blocks)
    assert save_tree(made, tmp_path / "notes.md")
    changed = NOTES.replace("hand", "model").replace("Because.\n", "Because it is.\n")
    assert (tmp_path / "notes.md").read_text(encoding="utf-8") == changed


def test_summaries_of_summaries_are_made_bottom_up() -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    whole = fold_post(tree, lambda node, below: f"({' '.join(below)})" if below else node.content)
    assert whole == "(preface (Add, then divide. (Because.)))"


def test_higher_order_functions_extract_and_change() -> None:
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    assert [node.content for node in traverse(tree) if isinstance(node, TextNode)] == [
        "preface", "Add, then divide.", "Because.",
    ]  # fmt: skip
    assert serialize_blocks(tree_to_blocks(map_tree(tree, lambda node: node.blocks))) == NOTES
    assert [node.fetch("topic") for node in traverse(tree)] == [None, None, *["means"] * 4]


def test_the_scan_functions_are_in_the_scan_module() -> None:
    from lmm_core.scan import clear_messages, scan, scan_messages, scan_rag

    blocks = parse_markdown_text("# Means\n\n---\n?: Why?\n---\n\nAdd, then divide.\n")
    assert serialize_blocks(scan(blocks, "notes")).startswith("---\n~title: Means\n")
    assert serialize_blocks(clear_messages(blocks)) == "# Means\n\nAdd, then divide.\n"
    assert callable(scan_messages) and callable(scan_rag)


# LM markdown for education: settings


CONFIG = """# content of config.toml
[RAG]
questions = false
summaries = false

[embeddings]
dense_model = "OpenAI/text-embedding-3-small"
"""


def test_settings_are_read_from_the_file_and_overridden_in_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(CONFIG, encoding="utf-8")
    config = ConfigSettings(RAG={"questions": True}, embeddings={"dense_model": "OpenAI/text-embedding-3-large"})
    assert (config.RAG.questions, config.RAG.summaries) == (True, False)
    assert config.embeddings.dense_model == "OpenAI/text-embedding-3-large"
    assert ConfigSettings(RAG={"questions_threshold": "5"}).RAG.questions_threshold == 5


@pytest.mark.parametrize(
    "storage", [":memory:", LocalStorage(folder="./storage"), RemoteSource(url="http://localhost", port=21465)]
)
def test_the_storage_is_a_value(storage: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    client = client_from_config(ConfigSettings(storage=storage))
    assert client is not None
    client.close()


def test_an_annotation_model_is_two_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text('[embeddings]\nannotations = ["questions"]\nown_annotations = ["topic"]\n')
    text = "---\nquestions: Why?\ntopic: all\n---\n\n# A\n\nOne.\n\n---\ntopic: review\nquestions: How?\n---\n\nTwo.\n"
    text = "---\ntitle: T\n---\n\n" + text
    blocks = parse_markdown_text(text)
    config = ConfigSettings(split={"size": "900"})
    assert [chunk.annotations for chunk in blocklist_encode(blocks, config).chunks] == ["Why?", "How?\nreview"]
    model = AnnotationModel(inherited_properties=["questions"], own_properties=["topic"])
    made = blocks_to_chunks(blocks, encoding_model=EncodingModel.SPARSE_CONTENT, annotation_model=model)
    assert [chunk.annotations for chunk in made] == ["Why?", "How?\nreview"]


def test_an_invalid_setting_fails_as_soon_as_it_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.toml").write_text(CONFIG.replace("false", "'never'", 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config.toml:3: `RAG.questions`: should be true or false, not 'never'"):
        ConfigSettings()


# LM markdown for education: chunks, the store, queries

LOGISTIC = """---
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


def logistic_chunks() -> list[Chunk]:
    """The chunks of the text, by the signature of the seed."""
    blocklist = parse_markdown_text(LOGISTIC)
    encoding_model, annotation_model, logger = EncodingModel.CONTENT, AnnotationModel(), ListLogger()
    chunks = blocks_to_chunks(blocklist, encoding_model, annotation_model, logger)
    names = blocks_to_chunks(blocklist=blocklist, encoding_model="content", annotation_model=["titles"], logger=logger)
    assert [chunk.content for chunk in names] == [chunk.content for chunk in chunks]
    assert not logger.reports
    return chunks


@pytest.fixture
def embedding(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    """An embedding model that the environment names."""
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("LMM_MODEL_EMBEDDING", "openai/text-embedding-3-small")
        yield server


def memory() -> ConfigSettings:
    """Settings of an index in memory."""
    return ConfigSettings(storage={"memory": True})


def test_chunks_are_uploaded_and_queried(embedding: EmbeddingServer, capsys: pytest.CaptureFixture[str]) -> None:
    client = client_from_config(memory())
    assert client is not None
    chunks = [chunk for chunk in logistic_chunks() if chunk.payload.get("type") != "summary"]
    points = upload(
        client,  # the Qdrant client object
        collection_name="documents",  # the collection to ingest into
        model=QdrantEmbeddingModel.DENSE,
        chunks=chunks,  # the chunks we want to ingest
    )
    assert [point.id for point in points] == [chunk.uuid for chunk in chunks]
    found = query(
        client,
        collection_name="documents",
        model=QdrantEmbeddingModel.DENSE,
        querytext="What are the main uses of logistic regression?",
        limit=6,  # max 6 ScoredPoints
        payload=True,  # all payload fields
    )
    for pt in found:
        print(f"{pt.score} - {pt.payload['page_content']}\n")
    assert "main uses of logistic regression" in capsys.readouterr().out
    assert len(found) == 2
    client.close()


@pytest.mark.parametrize("place", [":memory:", "storage"])
def test_a_qdrant_client_is_taken_in_memory_and_at_a_path(place: str) -> None:
    client = QdrantClient(place) if place == ":memory:" else QdrantClient(path=place)
    assert initialize_collection(client, "documents", QdrantEmbeddingModel.BM25)
    assert initialize_collection(client, "documents", "bm25", ExceptionLogger())  # it is there, which is fine
    assert len(upload(client, "documents", "bm25", bm25_chunks())) == 3
    client.close()
    if place == "storage":
        client = QdrantClient(path=place)
        assert "logistic" in first(query(client, "documents", "bm25", "logistic")).payload["page_content"]
        client.close()
    assert query(client, "documents", "bm25", "logistic", logger=(logger := ListLogger())) == []
    assert "closed" in str(logger.reports[0])


@pytest.mark.qdrant
def test_a_qdrant_client_of_a_server_is_taken(qdrant: str) -> None:
    with FailingServer(qdrant) as server:
        client = QdrantClient(url=server.url, check_compatibility=False)
        assert len(upload(client, "documents", "bm25", bm25_chunks())) == 3
        assert "logistic" in first(run(aquery(client, "documents", "bm25", "logistic"))).payload["page_content"]
    logger = ListLogger()
    assert query(client, "documents", "bm25", "logistic", logger=logger) == []
    assert "No Qdrant server answers" in str(logger.reports[0])


def test_a_collection_of_somebody_else_is_told_in_a_sentence() -> None:
    client, logger = QdrantClient(":memory:"), ListLogger()
    client.create_collection("documents", vectors_config=VectorParams(size=4, distance=Distance.COSINE))
    assert query(client, "documents", "bm25", "logistic", logger=logger) == []
    assert not initialize_collection(client, "documents", "bm25", logger)
    assert ["was not made by LM markdown" in str(report) for report in logger.reports] == [True, True]
    with pytest.raises(ReportedError, match="initialize_collection"):
        upload(client, "documents", "bm25", bm25_chunks(), ExceptionLogger())


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        (lambda client: client_from_config(5), "config"),
        (lambda client: upload(client, "c1", "bm26", []), "model"),
        (lambda client: upload(client, "c1", "bm25", 7), "chunks"),
        (lambda client: query(5, "c1", "bm25", "x"), "client"),
        (lambda client: query(client, "c1", "bm25", "x", payload="page_content"), "payload"),
        (lambda client: asyncio.run(aquery(client, "c1", "bm25", "x", "six")), "limit"),
        (lambda client: blocks_to_chunks([], "bm26"), "encoding_model"),
        (lambda client: markdown_upload(5), "documents"),
    ],
)
def test_a_wrong_argument_is_named(wrong: Callable[[object], object], argument: str) -> None:
    with pytest.raises(ValidationError) as caught:
        wrong(QdrantClient(":memory:"))
    assert {str(one["loc"][0]) for one in caught.value.errors()} == {argument}


@pytest.mark.parametrize("made_by", [QdrantEmbeddingModel.BM25, "settings"])
def test_what_counts_between_a_collection_and_settings_is_the_vectors(made_by: QdrantEmbeddingModel | str) -> None:
    config = ConfigSettings(embeddings={"encoding": "bm25"})
    first_model, then = (config, QdrantEmbeddingModel.BM25) if made_by == "settings" else (made_by, config)
    client = QdrantClient(":memory:")
    upload(client, "documents", first_model, bm25_chunks(), ExceptionLogger())
    assert query(client, "documents", then, "logistic", logger=ExceptionLogger())
    assert query(client, "documents", ConfigSettings(), "logistic", logger=ExceptionLogger())  # whichever it has
    with pytest.raises(ReportedError, match="vectors bm25, now sparse"):
        query(client, "documents", "sparse", "logistic", logger=ExceptionLogger())


def test_points_are_shown_as_blocks_whosever_they_are() -> None:
    client = QdrantClient(":memory:")
    points = upload(client, "documents", "bm25", bm25_chunks())
    assert "score:" not in serialize_blocks(points_to_blocks(points))
    found = query(client, "documents", "bm25", "logistic")
    own = [QdrantPoint(**asdict(one)) for one in found]  # ours has all its fields
    assert serialize_blocks(points_to_blocks(own)) == serialize_blocks(points_to_blocks(found))


def bm25_chunks() -> list[Chunk]:
    """The chunks of the text, to be found by words."""
    return blocks_to_chunks(parse_markdown_text(LOGISTIC), "bm25", AnnotationModel(), ListLogger())


def first(points: list[ScoredPoint]) -> ScoredPoint:
    """The best point."""
    return points[0]


# LM markdown for education: retrievers and ingestion


def test_a_document_is_uploaded_by_its_name_its_path_and_its_blocks(tmp_path: Path) -> None:
    (tmp_path / "s.md").write_text(LOGISTIC)
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "given"})
    made = markdown_upload("s.md", config)
    assert made is not None and made.written == 3
    for same in (Path("s.md"), ["s.md"], [tmp_path / "s.md"]):
        again = markdown_upload(same, config)
        assert again is not None and (again.written, again.unchanged) == (0, 3)
    blocks = blocklist_upload(parse_markdown_text(LOGISTIC.replace("docid: regression", "docid: other")), config)
    assert blocks is not None and blocks.written == 3


def test_a_name_of_no_file_is_reported() -> None:
    for name in ("s.md", "", "x" * 5_000):
        logger = ListLogger()
        counts = markdown_upload(name, memory(), logger=logger)
        assert counts is not None and counts.written == 0
        assert "There is no file" in str(logger.reports[0])
    with pytest.raises(ReportedError, match="There is no file"):
        markdown_upload("s.md", memory(), logger=ExceptionLogger())


def test_the_steps_of_ingestion_on_a_course(sample_book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sample_book)
    file = "02-describing.md"
    assert markdown_scan(file)
    blocks = markdown_rag(file, ScanOpts(questions=True, titles=True))
    assert blocks and "~titles" in Path(file).read_text()
    chunks = blocks_to_chunks(scan_split(blocks), EncodingModel.BM25, ["titles", "questions"])
    assert len(chunks) > 1
    encoded = blocklist_encode(blocks, memory(), ListLogger())
    assert encoded.chunks and encoded.documents
    client = QdrantClient(":memory:")
    upload(client, "chunks", "bm25", encoded.chunks, ExceptionLogger())
    upload(client, "documents", QdrantEmbeddingModel.UUID, encoded.documents, ExceptionLogger())
    around = query_grouped(client, "chunks", "documents", "bm25", "the median", 1, logger=ExceptionLogger())
    assert "median" in first(around).payload["page_content"]
    done = markdown_upload([file], ConfigSettings(storage={"memory": True}, database={"collection_name": "course"}))
    assert done is not None and done.written == len(encoded.chunks)


def test_a_retriever_is_made_of_the_configuration() -> None:
    langchain = pytest.importorskip("lmm_core.langchain")
    Path("config.toml").write_text("[storage]\nmemory = true\n")
    blocklist_upload(parse_markdown_text(LOGISTIC))
    retriever = langchain.QdrantVectorStoreRetriever.from_config_settings()
    results = retriever.invoke("What are the main uses of logistic regression?")
    assert "main uses of logistic regression" in results[0].page_content


def test_a_retriever_is_made_of_a_client(embedding: EmbeddingServer) -> None:
    langchain = pytest.importorskip("lmm_core.langchain")
    client = QdrantClient(path="./storage")  # without `path`, qdrant-client takes this for a server's name
    upload(client, "documents", QdrantEmbeddingModel.DENSE, logistic_chunks(), ExceptionLogger())
    retriever = langchain.QdrantVectorStoreRetriever(
        client,
        collection_name="documents",
        embedding_model=QdrantEmbeddingModel.DENSE,
    )
    results = retriever.invoke("What are the main uses of logistic regression?")
    assert {type(result).__name__ for result in results} == {"Document"}
    assert results[0].page_content and results[0].metadata["docid"] == "regression"
    other = langchain.AsyncQdrantVectorStoreRetriever(client, "documents", "dense", 2)
    assert len(asyncio.run(other.ainvoke("What are the main uses of logistic regression?"))) == 2
    with pytest.raises(ValidationError, match="embedding_model"):
        langchain.QdrantVectorStoreRetriever(client, "documents", "densest")
    client.close()


def test_a_grouped_retriever_returns_sections_under_the_summary_around_them() -> None:
    langchain = pytest.importorskip("lmm_core.langchain")
    config = ConfigSettings(storage={"memory": True}, database={"collection_name": "grouped"})
    blocklist_upload(parse_markdown_text(LOGISTIC), config)
    grouped = langchain.QdrantVectorStoreRetrieverGrouped.from_config_settings(config, max_companion_docs=1)
    (found,) = grouped.invoke("logistic")
    assert found.page_content.startswith("How models predict.\n\nThe main uses of logistic regression")
    assert found.metadata["context_summary"] == "How models predict."
    client = global_client_from_config(config)
    asynchronous = langchain.AsyncQdrantVectorStoreRetrieverGrouped(client, "grouped", "documents", config)
    assert len(asyncio.run(asynchronous.ainvoke("regression"))) == 2


def test_without_its_extra_langchain_says_what_to_install() -> None:
    code = "import sys; sys.modules['langchain_core'] = None; import lmm_core.langchain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: lmm_core.langchain needs" in done.stderr
    assert "pip install 'lmm-markdown[langchain]'" in done.stderr
