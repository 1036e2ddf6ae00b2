"""`lmm md-index`, `lmm md-search`, and the tools that do the same for agents."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from lmm_core.crawl.tools import add_tools
from lmm_core.errors import ToolError
from lmm_core.retrieve.tools import Tools
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.commands import text, write
from tests.crawl.indexed import fill, page
from tests.embedding_server import EmbeddingServer
from tests.indexing import document, lmm


def found(query, options=""):
    """Return the results of `lmm md-search --json`."""
    return json.loads(lmm(f"md-search --query '{query}' --json {options}")[0])


def description_of(index, folder=".md_index"):
    return json.loads(text(f"{folder}/catalogue.json"))["indexes"][index]["description"]


# Commands


def test_a_folder_is_indexed_and_searched():
    fill("docs", README="# Project documentation\n\n" + page("oak"), more=page("elm"))
    out, told = lmm("md-index --root docs")
    assert out == ""
    summary = r"docs: 2 files \(2 read, 0 unchanged\), 2 snippets \(2 written, 0 removed\), \d+\.\d s\n"
    assert re.fullmatch(summary, told)
    out, _ = lmm("md-search --query 'what of the elm?' -k 1")
    assert re.match(r"\d+\.\d{3}  docs  more\.md#L1-L5\n       Notes About elm ", out)
    assert [sorted(hit) for hit in found("elm")] == [["index", "score", "snippet", "source"]]
    assert description_of("docs") == "Project documentation"
    again = json.loads(lmm("md-index --root docs --json")[0])
    assert (again["files"], again["read"], again["unchanged"], again["written"]) == (2, 0, 2, 0)
    assert lmm("md-search --query zebra") == ("", "nothing was found\n")
    assert lmm("md-search --query zebra --json") == ("[]\n", "")


def test_name_description_and_place_are_what_the_options_say():
    fill("docs", trees=page("oak"))
    for description in ("--description 'All trees'", ""):  # the first one holds until there is another
        lmm(f"md-index --root docs --name woods --db-root elsewhere -q {description}")
        assert description_of("woods", "elsewhere") == "All trees"
    assert found("oak", "--db-root elsewhere --index woods")[0]["index"] == "woods"
    assert not Path(".md_index").exists()
    fill("文档", trees=page("oak"))
    assert "Give another one with --name" in lmm("md-index --root 文档", status=1)[1]


def test_what_is_skipped_is_listed_with_the_reason():
    fill("docs", trees=page("oak"), draft=page("elm"))
    Path("docs/latin.md").write_bytes(b"caf\xe9\n")
    write("docs/empty.md", "")
    _, told = lmm("md-index --root docs --ignore 'draft.*'")
    assert "docs/empty.md: warning: skipped: empty\n" in told
    assert "docs/latin.md: warning: skipped: line 1 is not UTF-8 (byte 3, 0xe9)" in told
    assert "1 file (1 read, 0 unchanged, 2 skipped)" in told
    assert found("elm") == []


def test_what_cannot_be_done_is_told_in_a_sentence():
    fill("docs", trees=page("oak"))
    for command, message in [
        ("md-search --query oak", "Nothing is indexed in .md_index yet. Run `lmm md-index --root FOLDER`."),
        ("md-index --root nowhere", "nowhere is not a folder"),
        ("md-index --root docs --name ../out", "'../out' cannot be the name of an index"),
    ]:
        out, told = lmm(command, status=1)
        assert told.removeprefix("Error: ").startswith(message) and told.count("\n") == 1 and out == ""
    assert "The query is empty" in lmm("md-search --query ' '", status=2)[1]


def test_without_the_key_of_its_model_an_index_is_searched_by_words(monkeypatch):
    fill("docs", trees=page("oak"))
    with EmbeddingServer() as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
        environment = {"LMM_MODEL_EMBEDDING": "openai/small", "OPENAI_API_KEY": "sk-loopback"}
        told = lmm("md-index --root docs", env=environment)[1]
        assert told.startswith("embedding 1 chunk with openai/small, about 129 tokens to http://models.example/v1\n")
        for index in ("docs", "all"):
            shown, told = lmm(f"md-search --query oak --index {index}")
            assert "trees.md#L1-L5" in shown
            assert told.startswith("warning: searching by words alone: openai/small: OPENAI_API_KEY is not set")
            assert "remove its folder in .md_index and run `lmm md-index`" in told and told.count("\n") == 1


# Tools


def tools_here(**options):
    tools = Tools(None)
    project = load_project(None)
    indexes = add_tools(tools, project, Models(), Path.cwd(), **options)
    return tools, indexes


def called(*calls):
    """Return the results of some calls of the tools, one after the other."""

    async def work():
        tools, indexes = tools_here()
        try:
            return [await tools.call(name, arguments) for name, arguments in calls]
        finally:
            await indexes.close()

    return asyncio.run(work())


def test_an_agent_indexes_a_folder_and_searches_in_it():
    with pytest.raises(ToolError, match="Nothing is indexed"):
        called(("markdown_search", {"query": "oak"}))
    fill("docs", trees=page("oak"), more=page("elm"))
    indexed, hits, again = called(
        ("index_markdown_docs", {"root": "docs", "index_name": "woods", "description": "Trees"}),
        ("markdown_search", {"query": "elm", "k": 1, "index_name": "woods"}),
        ("index_markdown_docs", {"root": "docs", "index_name": "woods", "description": "Trees"}),
    )
    assert (indexed["files"], indexed["snippets"], indexed["skipped"]) == (2, 2, 0)
    [result] = hits["results"]
    assert (result["index"], result["source"]) == ("woods", "more.md#L1-L5") and "elm" in result["snippet"]
    assert again["written"] == 0


@pytest.mark.parametrize("source", ["../secret.md#L1-L9", "link.md#L1-L3", "trees.md"])
def test_reading_takes_nothing_but_snippets_of_the_index(source):
    write("secret.md", "# Secret\n\nNobody reads this.\n")
    fill("docs", trees=page("oak"))
    os.symlink(Path("secret.md").resolve(), "docs/link.md")
    lmm("md-index --root docs --name woods -q")
    with pytest.raises(ToolError, match=r"nothing at|is not the source of a snippet"):
        called(("markdown_read", {"source": source, "index_name": "woods"}))


def test_an_agent_indexes_only_folders_in_the_working_folder():
    with pytest.raises(ToolError):
        called(("index_markdown_docs", {"root": "..", "index_name": "out", "description": ""}))
    assert not Path(".md_index").exists()


@pytest.mark.parametrize("is_indexed", [True, False])
def test_the_model_that_lmm_ask_asks_can_search_where_a_folder_is_indexed(is_indexed, model):
    write("notes.md", document("oak"))
    lmm("index notes.md -q")
    if is_indexed:
        fill("docs", trees=page("elm"))
        lmm("md-index --root docs -q")
    model.reply = "The oak [1]."
    lmm("ask 'what of the oak?' --model openai/m")
    offered = {tool["function"]["name"] for body in model.requests for tool in body.get("tools", [])}
    assert "search" in offered and "index_markdown_docs" not in offered
    assert ("markdown_search" in offered) is is_indexed
