"""Serve `Tools` to agents by the Model Context Protocol. Needs the extra `mcp`."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from .. import __version__
from ..crawl.tools import CHANGING
from ..errors import ToolError
from ..logging import as_json, printable
from ..retrieve.tools import Tool, Tools

NAME = "lmm"
READ_ONLY = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)  # fmt: skip


def make_server(tools: Tools, instructions: str) -> Server[Any]:
    """Return a server for the tools. instructions: sent to clients on connection."""

    async def list_tools(ctx: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(map(_offered, tools.offered())))

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await _called(tools, params.name, params.arguments)

    return Server(
        NAME, version=__version__, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )  # fmt: skip


def _offered(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.parameters,
        annotations=CHANGES if tool.name in CHANGING else READ_ONLY,
    )


async def _called(tools: Tools, name: str, arguments: dict[str, Any] | None) -> types.CallToolResult:
    try:
        result = await tools.call(name, arguments)
    except ToolError as error:
        return types.CallToolResult(content=[types.TextContent(type="text", text=printable(str(error)))], is_error=True)
    text = as_json(result)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)


async def serve_stdio(tools: Tools) -> None:
    """Serve the parent process until it closes its output."""
    server = make_server(tools, await tools.greeting())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
