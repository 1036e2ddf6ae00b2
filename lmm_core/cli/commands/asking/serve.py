"""The commands that serve: answers for web pages, tools for agents."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ....errors import LmmError
from ....indexing.passages import SUMMARY
from ....logging import one_line, put, say
from ....markdown.visibility import may_be_quoted
from ....models.chat import then_close
from ....models.languages.recognize import main_language
from ....retrieve.library import Library
from ....serving.tokens import add_token, read_tokens, revoke_token, tokens_path
from ....settings.models import Models
from ....settings.project import Project
from ....settings.tables import TOKEN_VARIABLE
from ....study.outline import course_title
from ...arguments import LOOPBACK, json_option, needs_extra, searched_project
from ...reports import print_json, warn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ....serving.page import ServedSite


@click.group(invoke_without_command=True, subcommand_metavar="[token add|list|revoke]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=8766,
    show_default=True,
    help="The port (0: any free one).",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--model", default="", metavar="NAME", help="The model to ask, as source/model.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
              help="Worker processes; more than one needs an index on a Qdrant server.")  # fmt: skip
@click.pass_context
def serve(context: click.Context, port: int, host: str, model: str, workers: int) -> None:
    """Answer students' questions on a web page.

    The settings are in the section [serve] of config.toml. To require an access token, put it into LMM_SERVE_TOKEN,
    or make one for each course or group with `lmm serve token add NAME`. The site that `lmm course` has published is
    served as well."""
    if context.invoked_subcommand:
        return
    with needs_extra("serve"):
        from ....serving import server  # noqa: F401
    project = searched_project()
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if workers > 1 and not project.storage.url:
        raise click.UsageError(
            f"--workers {workers} needs an index on a Qdrant server (url in [storage] of config.toml): one in a folder "
            "can be open in one process only"
        )
    _check_access(project, host, token)
    try:
        _serve(project, host, port, model, token, workers)
    except KeyboardInterrupt:
        sys.exit(130)


def _check_access(project: Project, host: str, token: str) -> None:
    tokens = read_tokens(tokens_path(project.root))
    if tokens is not None:
        say(f"a token is required: {', '.join(entry.name for entry in tokens) or 'there is none yet'}", err=True)
    elif host not in LOOPBACK and not token:
        warn(f"anyone who can reach {host} can ask about, and so read, the whole index: {TOKEN_VARIABLE} is not set")


def _serve(project: Project, host: str, port: int, model: str, token: str, workers: int) -> None:
    from uvicorn import Server
    from uvicorn.supervisors import Multiprocess

    from ....serving.access import SITE
    from ....serving.answers import ServedModels
    from ....serving.log import Log
    from ....serving.page import with_our_texts
    from ....serving.recorder import describe_recording
    from ....serving.server import address_of, listen, server_config

    models = ServedModels(model, project.serve.concurrency, Log(_say))
    by = models.check(project)
    library = Library(project, models, project.serve.patience)
    size, language = asyncio.run(then_close(_read_size(library), library))
    options = with_our_texts(project.serve, language, course_title(project.root))
    options = replace(options, concurrency=-(-options.concurrency // workers))
    site = _site(project.root)
    make_app = partial(_make_app, replace(project, serve=options), host, model, token, site, workers > 1)
    try:
        listening = listen(host, port)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while ")[0]
        raise click.ClickException(f"cannot listen on {host}, port {port}: {why}") from None
    with listening:
        for line in size:
            _say(line)
        _say(describe_recording(options))
        _say(f"the site in {site.folder}, at {SITE}/" if site else "no site: lmm course publishes one")
        _say(f"{by}; at {address_of(listening)}{f'; {workers} workers' if workers > 1 else ''}")
        if workers > 1:
            Multiprocess(server_config(make_app, workers), sockets=[listening]).run()  # replaces failed workers
        else:
            Server(server_config(make_app())).run(sockets=[listening])


def _make_app(project: Project, host: str, model: str, token: str, site: ServedSite | None, is_worker: bool) -> ASGIApp:
    from ....course.site import STYLE
    from ....quarto.extension import box_files as files_of_box
    from ....serving.app import Served
    from ....serving.log import Log
    from ....serving.page import box_files
    from ....serving.server import end_with_parent

    if is_worker:
        end_with_parent()
    files = box_files(files_of_box(), STYLE)
    return Served(project, host, model, token, files, site).make_app(Log(_say))


def _site(root: Path) -> ServedSite | None:
    from ....course.publish import is_published
    from ....course.run import output_dir
    from ....quarto.options import ASK_FOLDER
    from ....serving.page import ServedSite

    folder = root / output_dir(root)
    return ServedSite(folder, ASK_FOLDER) if is_published(folder) else None


async def _read_size(library: Library) -> tuple[list[str], str]:
    try:
        async with library.use() as opened:
            material = await opened.material()
            left_out = [type for type in sorted(material.types) if type != SUMMARY and not may_be_quoted([type])]
            ways = f"students can ask for: {', '.join(left_out)}. To keep a part from them: skip: true in its block"
            language = main_language(document.language for document in material.documents)
            return [material.size, *([ways] if left_out else [])], language
    except LmmError as error:
        return [f"warning: {error}"], ""


def _say(message: str) -> None:
    say(one_line(message), err=True)


# Agents


@click.command()
@click.option("--project", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="The folder of the notes, if the agent starts lmm in another one.")  # fmt: skip
def mcp(folder: Path | None) -> None:
    """Give agents tools to search and read the notes (MCP).

    The server talks to the agent that starts it on standard input and output. The tools change none
    of your files; one of them makes search indexes of folders, in .md_index."""
    from ....crawl.tools import add_tools
    from ....retrieve.tools import Tools

    if folder is not None:
        os.chdir(folder)  # before settings are read
    with needs_extra("mcp"):
        from ....serving.mcp_server import serve_stdio
    project, models = searched_project(), Models(warn=warn)
    library = Library(project, models)

    async def serve() -> None:
        tools = Tools(library)
        indexes = add_tools(tools, project, models, Path.cwd())
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # makes reading standard input interruptible
        await then_close(serve_stdio(tools), indexes, library)

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        sys.exit(130)


# The commands for access tokens of `lmm serve`


@serve.group()
def token() -> None:
    """Make and revoke access tokens for courses and groups.

    Once there is one, `lmm serve` requires a token: one of these, or LMM_SERVE_TOKEN. Only their hashes
    are stored, in .lmm/tokens.json. A running server sees each change at once."""


@token.command("add")
@click.argument("name")
def add(name: str) -> None:
    """Make a token for a course or group, and print it once."""
    root = searched_project().root
    before = read_tokens(tokens_path(root))
    new_token = add_token(root, name)
    put(new_token + "\n")
    say(f"This is the token of {name}. It is shown only once: give it to those who may ask.", err=True)
    if before is None:
        say("From now on, lmm serve requires a token.", err=True)


@token.command("list")
@json_option
def print_tokens(as_json: bool) -> None:
    """List the tokens, with the day each was made."""
    tokens = read_tokens(tokens_path(searched_project().root))
    if as_json:
        print_json([{"name": entry.name, "made": entry.made} for entry in tokens or ()])
        return
    for entry in tokens or ():
        say(f"{entry.made}  {entry.name}")
    if not tokens:
        message = "no tokens: nobody can ask, except with LMM_SERVE_TOKEN" if tokens is not None else "no tokens"
        say(message, err=True)


@token.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Revoke a token: its holders can no longer ask."""
    root = searched_project().root
    revoke_token(root, name)
    say(f"revoked: {name}", err=True)
    if not read_tokens(tokens_path(root)):
        place = tokens_path(Path()).as_posix()
        say("No token is left: nobody can ask now, except with LMM_SERVE_TOKEN.", err=True)
        say(f"To let everyone in, remove {place} and restart lmm serve.", err=True)
