"""The commands that serve: answers to the pages of a course, and tools to agents."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

import click

from ....errors import LmmError, TokenError
from ....logging import one_line, say
from ....serving.access.tokens import read_tokens, tokens_path
from ....settings.names import TEACHER_VARIABLE, TOKEN_VARIABLE
from ....settings.project import Project
from ....workflows.models import Models
from ...arguments import LOOPBACK, config_checked, needs_extra, searched_project
from ...reports import warn
from .tokens import token as token_commands

if TYPE_CHECKING:
    from ....serving.access.connections import ConnectionLimits
    from ....serving.access.rates import SharedRates
    from ....serving.answers import ServedModels
    from ....workflows.ask import SharedLibrary


@click.group(invoke_without_command=True, subcommand_metavar="[token add|list|revoke]")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="The port (0: any free one)."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--model", default="", metavar="NAME", help="source/model, in place of the configured one.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
              help="Processes that answer; more than one need an index on a Qdrant server.")  # fmt: skip
@click.pass_context
def serve(context: click.Context, port: int, host: str, model: str, workers: int) -> None:
    """Answer students' questions from a web page: the course site's, or its own.

    The settings are in the section [serve] of config.toml. To demand an access token, put it into LMM_SERVE_TOKEN,
    or make one for each course or group with `lmm serve token add NAME`. With another one in LMM_TEACHER_TOKEN, the
    page /teacher shows the teacher what students asked."""
    if context.invoked_subcommand:
        return
    with needs_extra("serve", "lmm serve needs"):
        from ....serving import server  # noqa: F401
    project = searched_project()
    token, teacher = (os.environ.get(name, "").strip() for name in (TOKEN_VARIABLE, TEACHER_VARIABLE))
    if teacher and teacher == token:
        raise click.UsageError(f"{TEACHER_VARIABLE} has to differ from {TOKEN_VARIABLE}, which students know")
    if workers > 1 and not project.storage.url:
        raise click.UsageError(
            f"--workers {workers} needs an index on a Qdrant server (url in [storage] of config.toml): one in a folder "
            "can be open in one process only"
        )
    _check_access(project, host, token)
    serving = _Serving(project, host, model, token, teacher)
    try:
        ended_by = serving.start(port, workers)
    except OSError as error:
        raise click.ClickException(str(error)) from None
    except LmmError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(130)
    if ended_by:
        sys.exit(128 + ended_by)


serve.add_command(token_commands)


def _check_access(project: Project, host: str, token: str) -> None:
    """Say who may ask. Raise ClickException if the tokens cannot be read."""
    try:
        tokens = read_tokens(tokens_path(project.root))
    except TokenError as error:
        raise click.ClickException(str(error)) from None
    options = project.serve
    if options.user_header:
        who = f"{options.user_header} from {', '.join(options.proxies)}"
        say(f"users sign in at the proxy ({who}); all other requests are refused", err=True)
    if tokens is not None:
        say(f"who asks needs a token: {', '.join(one.name for one in tokens) or 'there is none yet'}", err=True)
    elif host not in LOOPBACK and not token and not options.user_header:
        warn(f"everyone who can reach {host} can ask, and so read, all that is indexed: {TOKEN_VARIABLE} is not set")


@dataclass(frozen=True)
class _Serving:
    """What a process of the server needs to begin.

    rates: those that several processes share, None for one process."""

    project: Project
    host: str
    model: str
    token: str
    teacher: str
    rates: SharedRates | None = None

    def start(self, port: int, workers: int) -> int:
        """Serve until the process is told to end. Return the signal that ended several workers, 0 for one.

        Raise OSError and LmmError."""
        from ....serving.recorder import describe_recording
        from ....serving.server import address_of, listen

        by = self._models().check(self.project)
        try:
            listening = listen(self.host, port)
        except OSError as error:
            why = (error.strerror or str(error)).partition(" (while ")[0]
            raise OSError(f"cannot listen on {self.host}, port {port}: {why}") from None
        with listening:
            ready = f"{by}; at {address_of(listening)}"
            if workers == 1:
                asyncio.run(self._serve(listening, ready))
                return 0
            asyncio.run(self._tell_size())
            _say(describe_recording(self.project.serve))
            _say(f"{ready}; {workers} workers")
            return self._start_workers(listening, workers)

    def _start_workers(self, listening: socket, count: int) -> int:
        """Serve with several processes, each of which gets its share of what is limited for all."""
        from ....serving.access.rates import SharedRates
        from ....serving.server import QUEUE
        from ....serving.workers import Workers

        options = self.project.serve
        rates = SharedRates(options.rate, SharedRates.room(), os.urandom(32))
        share = replace(
            options, concurrency=-(-options.concurrency // count), connections=max(16, -(-options.connections // count))
        )
        one = replace(self, project=replace(self.project, serve=share), rates=rates)
        listening.listen(QUEUE)  # who comes before the workers are ready waits for them
        return Workers(count, one.work, listening, _say).run()

    def work(self, listening: socket) -> None:
        """Serve as one of several processes."""
        asyncio.run(self._serve(listening))

    async def _serve(self, listening: socket, ready: str = "") -> None:
        """Serve with this process. ready: is said when it has begun."""
        from ....course.served.notes import LOOKS, served_notes
        from ....course.words import site_words
        from ....quarto.ask_box.scripts import box_files
        from ....serving.access.guard import Names
        from ....serving.access.tokens import TokenFile
        from ....serving.answers import Answers
        from ....serving.app import make_app
        from ....serving.log import Log
        from ....serving.page import NotesLink, own_page
        from ....serving.recorder import describe_recording, make_recorder
        from ....serving.server import make_server
        from ....serving.texts import served_texts
        from ....workflows.ask import SharedLibrary, not_checked

        project, log, models = self.project, Log(_say), self._models()
        models.check(project)
        if without := not_checked(project, models):
            log(without)
        library = SharedLibrary(project, models, project.serve.patience)
        size, language = await _read_size(library)
        texts = served_texts(project, language)
        answers = Answers(project, models, library, log, texts, make_recorder(project, log))
        names = Names.of(self.host, project.serve.hosts, project.serve.origins)
        notes = served_notes(project.root, log)
        link = NotesLink(site_words(texts.language)["pages"], LOOKS) if notes else None
        page = own_page(box_files(), texts, link)
        app = make_app(answers, names, self.token, page, self.rates, self.teacher, notes, TokenFile(project.root))
        if ready:
            _say(size)
            _say(describe_recording(project.serve))
            _say(ready)
        await make_server(app, project.serve.proxies, log, _limits(project)).serve(sockets=[listening])

    def _models(self) -> ServedModels:
        from ....serving.answers import ServedModels
        from ....serving.log import Log

        return ServedModels(self.model, self.project.serve.concurrency, Log(_say))

    async def _tell_size(self) -> None:
        from ....workflows.ask import SharedLibrary

        library = SharedLibrary(self.project, self._models(), self.project.serve.patience)
        _say((await _read_size(library))[0])
        await library.close()


async def _read_size(library: SharedLibrary) -> tuple[str, str]:
    """Return the size of the index, and the language of its first document.

    If it cannot be read, that is only a warning, because it may change."""
    try:
        async with library.use() as opened:
            material = await opened.material()
            return material.size, material.documents[0].language
    except LmmError as error:
        return f"warning: {error}", ""


def _limits(project: Project) -> ConnectionLimits:
    """Return the limits for connections; the system may allow fewer than configured, which is a warning."""
    from ....serving.access.connections import ConnectionLimits
    from ....serving.server import room_for

    wanted = project.serve.connections
    most = room_for(wanted, project.serve.concurrency)
    if most < wanted:
        _say(
            f"warning: only {most:,} connections are possible at the same time, not {wanted:,}; allow more open files "
            "(ulimit -n)"
        )
    return ConnectionLimits(most)


def _say(message: str) -> None:
    say(one_line(message), err=True)


# Agents


@click.command()
@click.option("--http", "port", type=click.IntRange(0, 65535), metavar="PORT", help="Serve by HTTP (0: any free port).")
@click.option("--host", default="127.0.0.1", show_default=True, help="For --http: where to listen.")
@click.option("--project", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
              help="The folder of the notes, for an agent that starts it elsewhere.")  # fmt: skip
def mcp(port: int | None, host: str, folder: Path | None) -> None:
    """Give agents tools to search and read the notes, by the Model Context Protocol.

    The server talks on standard input and output with the agent that starts it. The tools change
    none of your files; one of them makes search indexes of folders, in .md_index."""
    from ....retrieve.agents.tools import Tools
    from ....workflows.ask import SharedLibrary, status_tool
    from ...folder_indexes import add_tools

    if folder is not None:
        os.chdir(folder)  # as if it had been started there: everything else follows
    with needs_extra("mcp", "lmm mcp needs"):
        from ....serving.agents import mcp_server as server
    project, models = searched_project(), Models(warn=warn)
    library = SharedLibrary(project, models)
    if port is not None and host not in LOOPBACK:
        warn(f"everyone who can reach {host} can read the notes and have folders indexed: there is no password")

    async def serve() -> None:
        tools = Tools(library)
        tools.add(status_tool(library), "What is indexed")
        indexes = add_tools(tools, project, models, Path.cwd())
        try:
            if port is None:
                signal.signal(signal.SIGINT, signal.SIG_DFL)  # otherwise reading the input cannot be interrupted
                await server.serve_stdio(tools)
            else:
                await server.serve_http(tools, host, port, lambda message: say(message, err=True))
        finally:
            await indexes.close()
            await library.close()

    try:
        config_checked(lambda: asyncio.run(serve()))
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        sys.exit(130)
