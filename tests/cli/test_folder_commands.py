"""`lmm md-index`, `lmm md-search`, and the tools that do the same for agents."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from lmm_core.crawl.indexer import default_name, encoding_without_annotations, read_description
from lmm_core.crawl.tools import add_tools
from lmm_core.errors import ToolError
from lmm_core.retrieve.agents.tools import Tools
from lmm_core.settings.models import Models
from lmm_core.settings.project import load_project
from tests.commands import text, write
from tests.crawl.indexed import fill, page
from tests.embedding_server import EmbeddingServer
from tests.indexing import document, lmm
from tests.model_server import ModelServer


def found(query, options=""):
    """Return the results of `lmm md-search --json`."""
    return json.loads(lmm(f"md-search --query '{query}' --json {options}")[0])


# Commands


def test_a_folder_is_indexed_and_searched():
    fill("docs", README="# Project documentation\n\n" + page("oak"), more=page("elm"))
    out, told = lmm("md-index --root docs")
    assert out == ""
    assert re.fullmatch(
        r"docs: 2 files \(2 read, 0 unchanged\), 2 snippets \(2 written, 0 removed\), \d+\.\d s\n", told
    )
    out, told = lmm("md-search --query 'what of the elm?' -k 1")
    assert re.match(r"\d+\.\d{3}  docs  more\.md#L1-L5\n       # Notes ## About elm ", out)
    assert [sorted(one) for one in found("elm")] == [["index", "score", "snippet", "source"]]
    catalogue = json.loads(Path(".md_index/catalogue.json").read_text())
    assert catalogue["indexes"]["docs"]["description"] == "Project documentation"


def test_that_nothing_was_found_is_told():
    fill("docs", trees=page("oak"))
    lmm("md-index --root docs -q")
    assert lmm("md-search --query zebra") == ("", "nothing was found\n")
    assert lmm("md-search --query zebra --json") == ("[]\n", "")


def test_a_second_run_reads_nothing():
    fill("docs", trees=page("oak"))
    lmm("md-index --root docs -q")
    done = json.loads(lmm("md-index --root docs --json")[0])
    assert (done["name"], done["files"], done["read"], done["unchanged"], done["written"]) == ("docs", 1, 0, 1, 0)


def test_name_description_and_place_are_what_is_said():
    fill("docs", trees=page("oak"))
    lmm("md-index --root docs --name woods --description 'All trees' --db-root elsewhere -q")
    assert found("oak", "--db-root elsewhere --index woods")[0]["index"] == "woods"
    assert not Path(".md_index").exists()


def test_a_description_holds_until_another_is_said():
    fill("docs", trees=page("oak"))
    for said in ("--description 'All trees'", ""):
        lmm(f"md-index --root docs -q {said}")
        assert json.loads(text(".md_index/catalogue.json"))["indexes"]["docs"]["description"] == "All trees"


def test_what_is_skipped_is_listed_with_the_reason():
    fill("docs", trees=page("oak"), draft=page("elm"), large=page(*(f"word{at}" for at in range(2200))))
    Path("docs/latin.md").write_bytes(b"caf\xe9\n")
    write("docs/empty.md", "")
    _, told = lmm("md-index --root docs --ignore 'draft.*'")
    assert "docs/empty.md: warning: skipped: empty\n" in told
    assert "docs/latin.md: warning: skipped: line 1 is not UTF-8 (byte 3, 0xe9)" in told
    assert re.search(r"docs/large\.md: warning: the file has 1\.\d MiB: split it", told)
    assert "2 files (2 read, 0 unchanged, 2 skipped)" in told
    assert found("elm") == []


def test_what_cannot_be_done_is_told_in_a_sentence():
    fill("docs", trees=page("oak"))
    for command, said in [
        ("md-search --query oak", "nothing is indexed in .md_index yet: run `lmm md-index --root FOLDER`"),
        ("md-index --root nowhere", "nowhere is not a folder"),
        ("md-index --root docs --name ../out", "'../out' cannot be the name of an index"),
    ]:
        out, told = lmm(command, status=1)
        assert told.startswith(said) and told.count("\n") == 1 and out == ""
    assert "The query is empty" in lmm("md-search --query ' '", status=2)[1]
    lmm("md-index --root docs -q")
    assert "there is no index 'doc': there are docs" in lmm("md-search --query oak --index doc", status=1)[1]


def test_the_configured_embedding_model_is_used_and_another_one_refused(monkeypatch):
    fill("docs", trees=page("oak"), more=page("elm"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
        lmm("md-index --root docs -q")
        entry = json.loads(Path(".md_index/catalogue.json").read_text())["indexes"]["docs"]
        assert entry["identity"]["embedding"] == "openai/small" and len(entry["centroid"]) == 8
        asked = server.count
        Path("config.toml").unlink()
        assert found("oak")  # as the index was made
        assert server.count == asked + 1
        fill("docs", trees=page("oak", "may"))
        done = json.loads(lmm("md-index --root docs --json")[0])
        assert done["written"] == 1 and server.count == asked + 2
        write("config.toml", '[embeddings]\ndense_model = "openai/large"\n')
        for command in ("md-index --root docs", "md-search --query oak --index docs"):
            assert "embedding openai/small, now openai/large" in lmm(command, status=1)[1]
    assert not [path for path in Path(".md_index").rglob("*") if path.is_file() and b"sk-loopback" in path.read_bytes()]


def test_where_texts_are_sent_is_said_before(monkeypatch):
    fill("docs", trees=page("oak"))
    write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    with EmbeddingServer() as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        said = lmm("md-index --root docs")[1]
    assert said.startswith("embedding 1 chunk with openai/small, about 129 tokens to http://models.example/v1\n")


def test_without_the_key_of_its_model_an_index_is_searched_by_words(monkeypatch):
    fill("docs", trees=page("oak"))
    with EmbeddingServer() as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
        named = {"LMM_MODEL_EMBEDDING": "openai/small"}
        lmm("md-index --root docs -q", env={**named, "OPENAI_API_KEY": "sk-loopback"})
        for env in ({}, named):
            for index in ("docs", "all"):
                shown, said = lmm(f"md-search --query oak --index {index}", env=env)
                assert "trees.md#L1-L5" in shown
                assert said.startswith("warning: searching by words alone: openai/small: OPENAI_API_KEY is not set")
                assert "remove its folder in .md_index, and run `lmm md-index`" in said and said.count("\n") == 1


def test_a_failing_model_leaves_what_was_done(monkeypatch):
    fill("docs", trees=page("oak"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with EmbeddingServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        write("config.toml", '[embeddings]\ndense_model = "openai/small"\n')
        lmm("md-index --root docs -q")
        server.status = 401
        fill("docs", more=page("elm"))
        assert "401" in lmm("md-index --root docs", status=1)[1]
        server.status = 200
        assert [one["source"] for one in found("oak", "-k 1")] == ["trees.md#L1-L5"]
        assert json.loads(lmm("md-index --root docs --json")[0])["files"] == 2


@pytest.mark.parametrize(
    ("configured", "encoding"),
    [("bm25", "bm25"), ("sparse", "bm25"), ("none", "bm25"), ("content", "content"), ("multivector", "hybrid")],
)
def test_what_encodes_annotations_alone_is_not_for_texts_without_any(configured, encoding):
    assert encoding_without_annotations(configured) == encoding


def test_the_description_is_the_readme_s_first_heading():
    assert read_description(Path()) == ""
    write("readme.markdown", "Some words.\n\n## A *fine* book {#id}\n\n# Later\n")
    assert read_description(Path()) == "A *fine* book"
    write("readme.markdown", "---\ntitle: The title\n---\n\n# A heading\n")
    assert read_description(Path()) == "The title"


def test_a_readme_that_is_no_file_or_lies_elsewhere_describes_nothing(tmp_path):
    write("README.md", "# Outside\n")
    Path("docs").mkdir()
    os.symlink("../README.md", "docs/README.md")
    os.mkfifo("docs/readme.markdown")
    Path("docs/README.qmd").write_bytes(b"# caf\xe9\n")
    assert read_description(Path("docs")) == ""


def test_a_folder_whose_name_no_index_can_have_needs_one():
    fill("文档", trees=page("oak"))
    assert "give another one with --name" in lmm("md-index --root 文档", status=1)[1]
    lmm("md-index --root 文档 --name docs -q")
    assert found("oak")


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names are Unicode")
def test_a_folder_whose_name_is_no_utf_8():
    folder = Path(os.fsdecode(b"caf\xe9"))
    fill(folder, trees=page("oak"))
    for written in (1, 0):
        assert json.loads(lmm(f"md-index --root {folder} --name docs --json")[0])["written"] == written
    assert found("oak")


def test_the_name_is_the_folder_s_as_names_are_spelled():
    assert default_name(Path("My notes (2024)")) == "My-notes-2024"
    assert default_name(Path("docs/..")) == Path.cwd().name


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
    fill("docs", trees=page("oak"), more=page("elm"))
    made, found, again = called(
        ("index_markdown_docs", {"root": "docs", "index_name": "woods", "description": "Trees"}),
        ("markdown_search", {"query": "elm", "k": 1, "index_name": "woods"}),
        ("index_markdown_docs", {"root": "docs", "index_name": "woods", "description": "Trees"}),
    )
    assert (made["files"], made["snippets"], made["skipped"]) == (2, 2, 0)
    [result] = found["results"]
    assert (result["index"], result["source"]) == ("woods", "more.md#L1-L5") and "elm" in result["snippet"]
    assert again["written"] == 0


def test_an_agent_reads_whole_snippets_by_their_source():
    long = "\n".join(f"Line {number} of the oak goes on about its {number} rings." for number in range(60))
    fill("docs", trees=f"# Oaks\n\n{long}\n")
    lmm("md-index --root docs --name woods -q")
    [[result], read] = (called(("markdown_search", {"query": "line 30", "k": 1}))[0]["results"], "markdown_read")
    source = result["source"]
    [whole] = called((read, {"source": source, "index_name": "woods"}))
    text = "\n".join(one["text"] for one in whole["snippets"])
    assert result["snippet"].removesuffix(" …") in text and len(text) > len(result["snippet"])
    for wrong, index in (
        ("none.md#L1-L2", "woods"),
        ("trees.md", "woods"),
        ("trees.md#L900-L999", "woods"),
        (source, "all"),
    ):
        with pytest.raises(ToolError):
            called((read, {"source": wrong, "index_name": index}))


SENTENCES = [f"Sentence {number} of the oak is about ring {number * 7} and no other." for number in range(1, 26)]


def test_an_answer_in_the_thirteenth_sentence_is_reached():
    """By a search that shows more, by one that shows whole snippets, and by reading on."""
    fill("docs", trees=f"# Oaks\n\n{' '.join(SENTENCES)}\n")
    lmm("md-index --root docs --name woods -q")
    query = {"query": "oak sentence", "k": 1}
    usual, more, whole = called(
        *(("markdown_search", query | one) for one in ({}, {"characters": 700}, {"characters": 8000}))
    )
    sizes = [len(found["results"][0]["snippet"]) for found in (usual, more, whole)]
    assert sizes[0] <= 502 < sizes[1] <= 702 < sizes[2]
    assert SENTENCES[12] in whole["results"][0]["snippet"]
    [read] = called(("markdown_read", {"source": "trees.md#L1-L900", "index_name": "woods"}))
    assert all(any(one in snippet["text"] for snippet in read["snippets"]) for one in SENTENCES)
    for characters in (0, 99, 8001, "900"):
        with pytest.raises(ToolError, match="characters"):
            called(("markdown_search", query | {"characters": characters}))


def test_much_is_read_in_parts():
    fill("docs", trees="\n\n".join(f"# Oak {number}\n\n{' '.join(SENTENCES)}" for number in range(12)) + "\n")
    lmm("md-index --root docs --name woods -q")
    asked = {"source": "trees.md#L1-L999", "index_name": "woods"}
    [first] = called(("markdown_read", asked))
    assert len(json.dumps(first)) < 14_000 and first["parts"] > 1 and "part=2 gives the next" in first["cut"]
    parts = called(*(("markdown_read", asked | {"part": part}) for part in range(1, first["parts"] + 1)))
    texts = [snippet["text"] for part in parts for snippet in part["snippets"]]
    assert all(any(f"# Oak {number}\n" in one for one in texts) for number in range(12))
    with pytest.raises(ToolError, match="there is no part"):
        called(("markdown_read", asked | {"part": 99}))


@pytest.mark.parametrize(
    "source", ["../secret.md#L1-L9", "/etc/passwd#L1-L2", "docs/../../secret.md#L1-L2", "link.md#L1-L3"]
)
def test_reading_takes_nothing_from_the_disk(source):
    write("secret.md", "# Secret\n\nNobody reads this.\n")
    fill("docs", trees=page("oak"))
    os.symlink(Path("secret.md").resolve(), "docs/link.md")
    lmm("md-index --root docs --name woods -q")
    with pytest.raises(ToolError, match="nothing is at"):
        called(("markdown_read", {"source": source, "index_name": "woods"}))


def test_whole_snippets_are_printed_as_they_stand():
    fill("docs", trees=f"# Oaks\n\n{' '.join(SENTENCES[:14])}\n\n- one\n- two\n")
    lmm("md-index --root docs --name woods -q")
    shown, _ = lmm("md-search --query 'oak sentence' -k 1 --full")
    assert SENTENCES[12] in shown and "\n\n- one\n- two\n" in shown
    assert SENTENCES[12] not in lmm("md-search --query 'oak sentence' -k 1")[0]
    assert SENTENCES[12] in found("oak sentence", "-k 1 --full")[0]["snippet"]


@pytest.mark.parametrize("root", ["..", "/", "docs/../..", "link"])
def test_an_agent_cannot_index_what_is_not_in_the_working_folder(root, tmp_path):
    (tmp_path / "work").mkdir()
    os.chdir(tmp_path / "work")
    os.symlink(tmp_path, "link")
    fill("docs", trees=page("oak"))
    with pytest.raises(ToolError, match="is not in the working folder"):
        called(("index_markdown_docs", {"root": root, "index_name": "out", "description": ""}))
    assert not Path(".md_index").exists()


def test_what_a_tool_cannot_do_is_told_to_the_agent():
    with pytest.raises(ToolError, match="nothing is indexed"):
        called(("markdown_search", {"query": "oak"}))
    fill("docs", trees=page("oak"))
    with pytest.raises(ToolError, match="cannot be the name of an index"):
        called(("index_markdown_docs", {"root": "docs", "index_name": "..", "description": ""}))


@pytest.mark.parametrize("root", ["a\0b", "x" * 100_000, "\ud800", "docs/trees.md", ".md_index", "~", "$HOME"])
def test_hostile_folders_are_refused_in_a_sentence(root):
    fill("docs", trees=page("oak"))
    Path(".md_index").mkdir()
    with pytest.raises(ToolError) as told:
        called(("index_markdown_docs", {"root": root, "index_name": "trees", "description": ""}))
    assert len(str(told.value)) < 500
    assert not list(Path(".md_index").iterdir())


@pytest.mark.parametrize(
    "hostile", ["\ud800", "a\0b", "\x1b[2J", "{}[]\"'", "oak AND 1=1", "x" * 2000, "../../etc/passwd", "-k", "%s%n"]
)
def test_hostile_words_are_words(hostile):
    fill("docs", trees=page("oak"))
    arguments = {"root": "docs", "index_name": "woods", "description": hostile}
    made, found = called(("index_markdown_docs", arguments), ("markdown_search", {"query": f"oak {hostile}"}))
    assert made["files"] == 1 and [one["source"] for one in found["results"]] == ["trees.md#L1-L5"]
    with pytest.raises(ToolError):
        called(("markdown_search", {"query": "oak", "index_name": hostile}))
    with pytest.raises(ToolError):
        called(("index_markdown_docs", {**arguments, "index_name": f"{hostile} x"}))


def test_the_schemas_are_the_specification_s():
    tools, _ = tools_here()
    schemas = {schema["name"]: schema["parameters"] for schema in tools.schemas()}
    search, index = schemas["markdown_search"], schemas["index_markdown_docs"]
    types = {name: value["type"] for name, value in search["properties"].items()}
    assert types == {"query": "string", "k": "integer", "index_name": "string", "characters": "integer"}
    assert search["required"] == ["query"]
    assert (search["properties"]["k"]["default"], search["properties"]["index_name"]["default"]) == (5, "all")
    assert {name: value["type"] for name, value in index["properties"].items()} == dict.fromkeys(
        index["required"], "string"
    )
    assert index["required"] == ["root", "index_name", "description"]


@pytest.mark.long
def test_over_mcp():
    """The MCP SDK's own client, and a server that it starts."""
    fill("docs", trees=page("oak"), more=page("elm"))

    async def work():
        here = StdioServerParameters(
            command=sys.executable, args=["-m", "lmm_core", "mcp"], env=dict(os.environ), cwd=os.getcwd()
        )
        async with Client(here) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert listed["markdown_search"].annotations.read_only_hint
            assert not listed["index_markdown_docs"].annotations.read_only_hint
            arguments = {"root": "docs", "index_name": "woods", "description": "Trees"}
            assert not (await client.call_tool("index_markdown_docs", arguments)).is_error
            for _ in range(2):
                result = await client.call_tool("markdown_search", {"query": "elm"})
                assert result.structured_content["results"][0]["source"] == "more.md#L1-L5"
            fill("docs", late=page("yew"))
            await asyncio.to_thread(lmm, "md-index --root docs --name woods -q")  # another process, meanwhile
            result = await client.call_tool("markdown_search", {"query": "yew"})
            assert result.structured_content["results"][0]["source"] == "late.md#L1-L5"
            result = await client.call_tool("index_markdown_docs", {**arguments, "root": "/"})
            assert result.is_error and "not in the working folder" in result.content[0].text

    asyncio.run(work())


@pytest.mark.parametrize("indexed", [True, False])
def test_the_model_that_lmm_ask_asks_can_search_where_a_folder_is_indexed(indexed, monkeypatch):
    write("notes.md", document("oak"))
    lmm("index notes.md -q")
    if indexed:
        fill("docs", trees=page("elm"))
        lmm("md-index --root docs -q")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    with ModelServer(reply=lambda body: "The oak [1].") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        lmm("ask 'what of the oak?' --model openai/m")
        offered = {tool["function"]["name"] for body in server.requests for tool in body.get("tools", [])}
    assert "search" in offered and "index_markdown_docs" not in offered
    assert ("markdown_search" in offered) is indexed
