"""The page about what differs from LM markdown: each difference is shown here, and no other is on the page."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lmm_core import (
    ExceptionLogger,
    ListLogger,
    ScanOpts,
    blocklist_encode,
    blocks_to_chunks,
    blocks_to_tree,
    load_markdown,
    map_tree,
    markdown_rag,
    markdown_scan,
    parse_markdown_text,
    query,
    scan_rag,
    serialize_blocks,
    traverse,
    upload,
)
from lmm_core.settings.config import ConfigSettings
from tests.commands import run, text, write
from tests.test_readme import ROOT

PAGE = ROOT / "docs" / "lm-markdown.md"
NOTES = """---
title: Linear models
docid: Ch1
---

---
~txthash: 7JdFs+GLpXTfvmONOnyc5g
titles: Linear models - Observational studies
source: Ch1
questions: What are observational studies? - How does confounding arise?
---
### Observational studies

These are studies with predictors that were observed in the field, and were not the result of an experiment. Traumas
may be confounded with the conditions in which children grow up.
"""
WORDS = "The mean adds all numbers and divides the sum by how many there are, so that one outlier moves it far. " * 2
SHOWN: dict[str, Callable[..., None]] = {}


def shows(name):
    """Register the test of a difference by its name on the page."""

    def register(test):
        SHOWN[name] = test
        return test

    return register


def test_the_page_names_what_is_tested_and_nothing_else():
    assert re.findall(r"^\| \*\*(.*?)\.\*\*", PAGE.read_text(), re.M) == list(SHOWN)


def test_their_index_is_not_touched(tmp_path):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path="storage")
    client.create_collection("chunks", vectors_config={"content": models.VectorParams(size=2, distance="Cosine")})
    client.close()
    before = {path: path.read_bytes() for path in Path("storage").rglob("*") if path.is_file()}
    write("config.toml", '[storage]\nfolder = "./storage"\n')
    write("Lecture01.md", NOTES)
    done = run("lmm index .")
    assert done.returncode == 1 and "nothing in it is touched" in done.stderr.decode()
    assert before == {path: path.read_bytes() for path in Path("storage").rglob("*") if path.is_file()}


def annotated(source, **options):
    return serialize_blocks(scan_rag(parse_markdown_text(source), ScanOpts(**options)))


@shows("Bytes")
def test_only_lines_of_keys_change():
    source = f"---\ntitle: 'T' # a remark\nversion: 1.10\n---\r\n\n# Mean\r\n\n{WORDS}  \n\n`x  `"
    after = iter(annotated(source, titles=True).splitlines(keepends=True))
    assert all(line in after for line in source.splitlines(keepends=True))  # each, in this order


@shows("Errors")
def test_an_error_stays_as_it_is_and_the_rest_is_worked_on():
    source = f"---\ntitle: T\n---\n\n---\na: [\n---\n\n# A\n\n{WORDS}\n"
    write("notes.md", source)
    logger = ListLogger()
    markdown_rag("notes.md", ScanOpts(titles=True, questions=False, summaries=False), logger=logger)
    assert [report.line for report in logger.reports if report.level == "error"] == [7]
    assert "---\na: [\n---\n" in text("notes.md") and "~titles: T - A" in text("notes.md")


@shows("Header")
def test_the_header_gets_keys_of_the_system():
    write("notes.md", "# Means\n\nText.\n")
    markdown_scan("notes.md")
    assert text("notes.md").startswith("---\n~title: Means\n~docid: notes.md\n")


@shows("Owners")
def test_what_lm_markdown_wrote_is_the_writers():
    source = f"---\ntitle: T\n---\n\n---\n~txthash: x\nquestions: What is the mean?\n---\n# A\n\n{WORDS}\n"
    after = annotated(source, titles=True)
    assert "\nquestions: What is the mean?\n" in after and "~questions" not in after and "~titles: T - A" in after


@shows("Lists")
def test_a_list_is_no_metadata():
    write("notes.md", "# A\n\n---\n- type: exercise\n- note: x\n---\n\nText.\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 1 and b"type: exercise\nnote: x" in done.stderr


@shows("Equals signs")
def test_an_equals_sign():
    write("notes.md", "# A\n\n---\nfrozen = True\n---\n\nText.\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 1 and b"notes.md:4: near-miss `frozen` stands in no block" in done.stderr


@shows("Skip")
def test_the_nearest_skip_wins():
    source = "---\ntitle: T\nskip: true\n---\n\n# A\n\nhidden\n\n---\nskip: false\n---\n## B\n\nshown\n"
    assert [chunk.content for chunk in blocks_to_chunks(parse_markdown_text(source))] == ["shown"]


@shows("Chats")
def test_a_chat_goes_on(monkeypatch):
    from tests.model_server import ModelServer

    write("notes.md", "# A\n\n---\n?: Is it clear?\n---\n\nText.\n")
    with ModelServer(reply=lambda body: str(len(body["messages"]))) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert run("lmm chat notes.md").returncode == 0
        write("notes.md", text("notes.md").replace("~chat:", "+: And now?\n~chat:"))
        assert run("lmm chat notes.md").returncode == 0
    first, second = re.findall(r"- model: ['\"]?(\d+)", text("notes.md"))
    assert int(second) == int(first) + 2


@shows("Messages")
def test_annotating_leaves_chats_alone():
    source = f"---\ntitle: T\n---\n\n---\n?: Is it clear?\n---\n\n# A\n\n{WORDS}\n"
    assert "?: Is it clear?" in annotated(source)


@shows("Points")
def test_a_point_is_its_content():
    def ids(source):
        return {chunk.content: chunk.uuid for chunk in blocks_to_chunks(parse_markdown_text(source), docid="a")}

    before, after = ids("# A\n\none\n\ntwo\n"), ids("# A\n\nnew\n\none\n\ntwo\n")
    assert {key: after[key] for key in before} == before


@shows("Defaults")
def test_what_is_on():
    config = ConfigSettings()
    assert (config.RAG.questions, config.RAG.summaries, config.RAG.titles) == (True, True, False)
    assert config.embeddings.encoding == "default"


@shows("Configuration")
def test_no_file_is_written_and_unknown_keys_are_errors():
    write("notes.md", NOTES)
    assert run("lmm scan notes.md").returncode == 0
    assert not Path("config.toml").exists()
    write("config.toml", "[text_splitter]\nchunk_size = 500\n")
    done = run("lmm scan notes.md")
    assert done.returncode == 2 and b"config.toml" in done.stderr and b"text_splitter" in done.stderr


@shows("Trees")
def test_a_tree_is_changed_by_a_map_that_makes_another():
    tree = blocks_to_tree(parse_markdown_text("# A\n\nText.\n"))
    made = map_tree(tree, lambda node: [] if node.content == "Text." else node.blocks)
    assert [len(list(traverse(one))) for one in (tree, made)] == [3, 2]


@shows("Clients")
def test_qdrants_client_opens_a_folder_by_its_path():
    from qdrant_client import QdrantClient

    client = QdrantClient(path="storage")
    chunks = blocks_to_chunks(parse_markdown_text(NOTES))
    assert upload(client, "lectures", "bm25", chunks, logger=ExceptionLogger())
    (point,) = query(client, "lectures", "bm25", "What is confounding?", logger=ExceptionLogger())
    assert point.payload is not None and "confounded" in point.payload["page_content"]
    client.close()


@shows("Results")
def test_encoding_returns_chunks_and_documents():
    encoded = blocklist_encode(parse_markdown_text(NOTES))
    assert [len(encoded.chunks), len(encoded.documents)] == [1, 1]


@shows("Grouped")
def test_sections_have_a_retriever_of_their_own():
    langchain = pytest.importorskip("lmm_core.langchain")
    found = langchain.QdrantVectorStoreRetrieverGrouped.from_config_settings(ConfigSettings(storage=":memory:"))
    assert not isinstance(found, langchain.QdrantVectorStoreRetriever)


@shows("Reading")
def test_what_cannot_be_read_is_none():
    assert load_markdown("none.md", ListLogger()) is None
    assert load_markdown("# A\n\nText.\n", ListLogger()) is None
