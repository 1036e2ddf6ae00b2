"""The command that gives the tools to agents."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import click

from ...logging import say
from ...workflows.models import Models
from ..reports import LOOPBACK, checked, needing, warn
from .find import searched_project


@click.command()
@click.option("--http", "port", type=click.IntRange(0, 65535), metavar="PORT", help="By HTTP (0: any free port).")
@click.option("--host", default="127.0.0.1", show_default=True, help="For --http: where to listen.")
def mcp(port: int | None, host: str) -> None:
    """Give agents tools to search and read the notes: a server of the Model Context Protocol.

    It speaks on standard input and output with the agent that starts it. The tools change none
    of your files; one of them makes search indexes of folders, in .md_index."""
    from ...retrieve.tools import Tools
    from ...workflows.ask import SharedLibrary
    from ...workflows.folders import add_tools

    with needing("mcp", "lmm mcp needs"):
        from ...serving import mcp_server as server
    project, models = searched_project(), Models(warn=warn)
    library = SharedLibrary(project, models)
    if port is not None and host not in LOOPBACK:
        warn(f"who can reach {host} can read the notes and have folders indexed: there is no password")

    async def serve() -> None:
        tools = Tools(library)
        indexes = add_tools(tools, project, models, Path.cwd())
        try:
            if port is None:
                signal.signal(signal.SIGINT, signal.SIG_DFL)  # what reads the input cannot be interrupted otherwise
                await server.serve_stdio(tools)
            else:
                await server.serve_http(tools, host, port, lambda message: say(message, err=True))
        finally:
            await indexes.close()
            await library.close()

    try:
        checked(lambda: asyncio.run(serve()))
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        sys.exit(130)
