"""`lmm mcp`, asked by the MCP SDK's own client."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lmm_core.installation import install_command
from lmm_core.retrieve.tools import Tools
from tests.effort import PATIENCE
from tests.indexing import lmm

SERVER = [sys.executable, "-m", "lmm_core", "mcp"]
CALLS = {
    "search": {"query": "oak"},
    "outline": {"level": 1},
    "read": {"name": "trees#1"},
    "next_section": {"section": "trees#1"},
    "mentions": {"term": "birch"},
}
MARKDOWN = {
    "markdown_search",
    "markdown_read",
    "index_markdown_docs",
}  # tests/cli/test_folder_commands.py calls these


def stdio(folder, *options):
    """A client of a server that it starts."""
    from mcp import Client, StdioServerParameters

    server = [*SERVER, *options]
    return Client(StdioServerParameters(command=server[0], args=server[1:], cwd=str(folder), env=dict(os.environ)))


async def asked(client, tool, /, **arguments):
    """A tool's result, which text and structured content both hold."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def check_tools(client):
    """Every tool is there with our schema, can be called, and says what is wrong."""
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(listed) >= MARKDOWN
    listed = {name: tool for name, tool in listed.items() if name not in MARKDOWN}
    schemas = {schema["name"]: schema for schema in Tools(None).schemas()}
    assert {name: tool.input_schema for name, tool in listed.items()} == {
        name: schema["parameters"] for name, schema in schemas.items()
    }
    assert set(listed) == set(CALLS)
    assert all(tool.annotations.read_only_hint for tool in listed.values())
    found = {name: await asked(client, name, **arguments) for name, arguments in CALLS.items()}
    assert found["search"]["passages"][0]["section"] == "trees#1"
    assert found["read"]["text"].startswith("Here the oak is explained")
    assert found["next_section"]["section"] == "trees#2"
    assert found["mentions"]["total"] == 1
    await check_errors(client)


async def check_errors(client):
    for name, arguments, said in [
        ("read", {"name": "/etc/passwd"}, "there is no document or section '/etc/passwd'"),
        ("search", {"query": "oak", "limit": "many"}, "limit has to be of type integer"),
        ("shell", {}, "there is no tool 'shell'"),
    ]:
        result = await client.call_tool(name, arguments)
        assert result.is_error and said in result.content[0].text


@pytest.mark.long
def test_over_standard_input_and_output(own_course):
    async def work():
        async with stdio(own_course) as client:
            assert '"trees" ("Trees")' in client.instructions and "exercise" in client.instructions
            await check_tools(client)

    asyncio.run(work())


@pytest.mark.long
def test_it_is_started_anywhere_with_the_folder_of_the_notes(own_course, tmp_path):
    (tmp_path / "elsewhere").mkdir()

    async def work():
        async with stdio(tmp_path / "elsewhere", "--project", str(own_course.resolve())) as client:
            return len((await asked(client, "outline", level=0))["sections"])

    assert asyncio.run(work()) == 1
    assert "does not exist" in lmm("mcp --project none", status=2)[1]


@pytest.mark.long
def test_an_interrupt_ends_it(own_course):
    with subprocess.Popen(SERVER, cwd=own_course, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        process.stdin.write(json.dumps(hello).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) != 0


def test_where_the_package_is_missing_it_says_how_to_install_it(own_course, monkeypatch):
    monkeypatch.chdir(own_course)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "lmm_core.serving.mcp_server", raising=False)
    monkeypatch.delattr("lmm_core.serving.mcp_server", raising=False)
    assert install_command("mcp") in lmm("mcp", status=1)[1]


def test_the_docs_list_the_tools():
    text = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \|", text, re.M)
    schemas = Tools(None).schemas()
    assert rows == [(schema["name"], ", ".join(schema["parameters"]["properties"])) for schema in schemas]
