"""The command that answers the pages of a course."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import LmmError
from ...files.outputs import LINES_OF_JSON
from ...logging import one_line, say
from ...settings.names import TOKEN_VARIABLE
from ...settings.project import Project
from ..shared import LOOPBACK, check_written, needing, warn
from .find import searched_project

if TYPE_CHECKING:
    from ...serving.connections import ConnectionLimits
    from ...workflows.ask import SharedLibrary


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8766, show_default=True, help="0: any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--model", default="", metavar="NAME", help="source/model, over what is configured.")
@click.option("--log-questions", "questions", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Keep what is asked (.jsonl), for lmm bench --questions; tell your students.")  # fmt: skip
def serve(port: int, host: str, model: str, questions: Path | None) -> None:
    """Answer students' questions from a web page: the course site's, or its own.

    Settings stand in the section [serve]; an access token, if there is to be one, in LMM_SERVE_TOKEN."""
    if questions is not None and questions.suffix.lower() != ".jsonl":
        raise click.UsageError(f"--log-questions {questions}: the file should end in .jsonl, for lmm bench to read it")
    if questions is not None:
        check_written(questions, (), LINES_OF_JSON, may_replace=True)
    with needing("serve", "lmm serve needs"):
        from ...serving import server  # noqa: F401
    project, token = searched_project(), os.environ.get(TOKEN_VARIABLE, "").strip()
    if host not in LOOPBACK and not token:
        warn(f"who can reach {host} can ask, and so read, all that is indexed: {TOKEN_VARIABLE} is not set")
    try:
        asyncio.run(_serve(project, host, port, model, token, questions))
    except OSError as error:
        raise click.ClickException(str(error)) from None
    except LmmError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(project: Project, host: str, port: int, model: str, token: str, questions: Path | None) -> None:
    from ...quarto.setup import packaged_extension
    from ...serving.answers import Answers, ServedModels
    from ...serving.app import make_app
    from ...serving.guard import Names
    from ...serving.log import Log
    from ...serving.page import own_page
    from ...serving.questions import QuestionLog
    from ...serving.server import address_of, listen, make_server
    from ...workflows.ask import SharedLibrary

    said = Log(_say)
    models = ServedModels(model, project.serve.concurrency, said)
    by = models.check(project)
    try:
        log = QuestionLog(questions) if questions else None
    except OSError as error:
        raise OSError(f"cannot write {questions}: {error.strerror}") from None
    library = SharedLibrary(project, models, project.serve.patience)
    answers = Answers(project, models, library, said, log)
    names = Names.of(host, project.serve.hosts, project.serve.origins)
    app = make_app(answers, names, token, own_page(packaged_extension() / "ask"))
    try:
        listening = listen(host, port)
    except OSError as error:
        why = (error.strerror or str(error)).partition(" (while ")[0]
        raise OSError(f"cannot listen on {host}, port {port}: {why}") from None
    with listening:
        await _say_what_is_there(answers.library)
        _say(f"{by}; at {address_of(listening)}")
        await make_server(app, project.serve.proxies, said, _limits(project)).serve(sockets=[listening])


def _limits(project: Project) -> ConnectionLimits:
    """The limits for connections, which the system may have made lower than they should be."""
    from ...serving.connections import ConnectionLimits
    from ...serving.server import room_for

    wanted = project.serve.connections
    most = room_for(wanted, project.serve.concurrency)
    if most < wanted:
        _say(f"warning: {most:,} connections at the same time, not {wanted:,}: more open files are needed (ulimit -n)")
    return ConnectionLimits(most)


async def _say_what_is_there(library: SharedLibrary) -> None:
    """The size of the index; why it cannot be read is a warning, since that may change."""

    try:
        async with library.use() as opened:
            there = await opened.material()
    except LmmError as error:
        _say(f"warning: {error}")
    else:
        _say(there.size)


def _say(message: str) -> None:
    say(one_line(message), err=True)
