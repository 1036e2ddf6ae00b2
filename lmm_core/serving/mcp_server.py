"""Serve `Tools` to agents by the Model Context Protocol. Needs the extra `mcp`."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from .. import __version__
from ..crawl.tools import CHANGING
from ..errors import ToolError
from ..logging import as_json, printable
from ..retrieve.agents.tools import Tool, Tools

if TYPE_CHECKING:
    from starlette.applications import Starlette

NAME = "lmm"
PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
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


async def serve_http(tools: Tools, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve streamable HTTP until terminated. Raise OSError if the port is unavailable.

    port: 0 for any free one
    say: prints the address, and errors"""
    from uvicorn import Server as HttpServer

    from . import server as http
    from .log import LibraryHandler, Log

    with http.listen(host, port) as listening:
        app = http_app(make_server(tools, await tools.greeting()), host)
        say(f"tools at {http.address_of(listening).rstrip('/')}{PATH}")
        handler = LibraryHandler(Log(say))
        logging.getLogger().addHandler(handler)
        try:
            await HttpServer(http.server_config(app)).serve(sockets=[listening])
        finally:
            logging.getLogger().removeHandler(handler)


def http_app(server: Server[Any], host: str) -> Starlette:
    """Return the web application, restricted to this machine's host names against DNS rebinding."""
    names = [*LOOPBACK, f"[{host}]" if ":" in host else host, socket.gethostname()]
    security = TransportSecuritySettings(
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[pattern for name in names for pattern in (f"http://{name}", f"http://{name}:*")],
    )
    return server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security, host=host
    )
