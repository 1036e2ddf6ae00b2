"""The command for questions to the index."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import LmmError
from ...index.chunks import SUMMARY
from ...logging import printable, say
from ...settings.project import Project
from ...workflows.models import Models
from ..reports import Told, json_option, leave, print_json, warn, with_shared_library
from .find import relative, searched_project

if TYPE_CHECKING:
    from ...retrieve.answer import Answer, Conversation
    from ...retrieve.context import CitedSource
    from ...retrieve.tools import Tools
    from ...workflows.ask import SharedLibrary

PROMPT = "? "


class _WithKinds(click.Command):
    """Its help names the types of material that the index has."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if kinds := _kinds_there():
            formatter.write_paragraph()
            formatter.write_text(printable(f"In this index, {_kinds_to_ask_for(kinds)}"))


def _kinds_there() -> list[str]:
    """The types of material in the index of the working folder; none where it cannot be read."""
    from ...errors import StoreError
    from ...workflows.index import client_from_config

    try:
        project = searched_project()
        if project.index.url or not (project.root / project.index.folder).exists():
            return []
        store = client_from_config(project)
    except (StoreError, click.UsageError):
        return []
    try:
        return sorted(kind for kind in store.facet(project.index.collection, "type") if kind != SUMMARY)
    except StoreError:
        return []
    finally:
        store.close()


@click.command(cls=_WithKinds)
@click.argument("question", required=False)
@click.option("--type", "kind", default="", metavar="TYPE", help="Material of a type alone: exercise, definition, …")
@click.option("--context", type=click.Choice(["passages", "outline", "text"]), help="What the model is shown.")
@click.option("--level", type=click.IntRange(1, 6), help="Of headings, for outline and text.")
@click.option("--budget", type=click.IntRange(50), metavar="TOKENS", help="Of the notes that the model is shown.")
@click.option("--model", default="", metavar="NAME", help="source/model, over what is configured.")
@click.option("--no-model", is_flag=True, help="Ask no model: print what it would be shown.")
@json_option
def ask(
    question: str | None, kind: str, context: str | None, level: int | None, budget: int | None, model: str,
    no_model: bool, as_json: bool,
) -> None:  # fmt: skip
    """Answer a question from the notes, with the sources; without a question, a session.

    *exercise* in a question asks for exercises, likewise any type of material in the notes."""
    from ...retrieve.tools import Tools
    from ...workflows.ask import conversation

    if question is not None and not question.strip():
        raise click.UsageError("an empty question: say what you want to know")
    project = searched_project()
    asked = project.ask
    asked = replace(asked, context=context or asked.context, level=level or asked.level, budget=budget or asked.budget)
    project = replace(project, ask=asked)
    models, logger = Models(model, warn=warn), Told()

    async def work(library: SharedLibrary) -> None:
        tools = Tools(library)
        async with _markdown_folders(tools, project, models):
            talk = conversation(project, models, library, not no_model, tools)
            reader = _AnswerPrinter(project, talk, kind, no_model, as_json)
            if question is not None:
                await reader.answer(question)
            else:
                await _session(reader, library, logger)

    with_shared_library(project, models, work, logger)
    leave(logger)


@asynccontextmanager
async def _markdown_folders(tools: Tools, project: Project, models: Models) -> AsyncIterator[None]:
    """Within the block, the model can search in what `lmm md-index` has made here, too."""
    from ...workflows.folders import FOLDER, add_tools

    if not Path(FOLDER).is_dir():
        yield
        return
    indexes = add_tools(tools, project, models, Path.cwd(), indexing=False)
    try:
        yield
    finally:
        await indexes.close()


async def _session(reader: _AnswerPrinter, library: SharedLibrary, logger: Told) -> None:
    """Questions of a person, or of a file's lines, until there are no more. While one is waited
    for, others (`lmm index`) can have the index."""

    await _greet(reader, library)
    while (question := await _next_question(library)) is not None:
        if question.strip():
            try:
                stopped = await _until_ctrl_c(reader.answer(question))
                say("\n(stopped)" if stopped else "")
            except LmmError as error:
                logger.error(str(error))


async def _greet(reader: _AnswerPrinter, library: SharedLibrary) -> None:
    """What there is to ask, and who answers. Raises UnknownKind where a type is asked for that
    is not there."""
    from ...retrieve.retriever import known_kind

    async with library.use() as opened:
        material = await opened.material()
    known_kind(reader.kind, material)
    asker = reader.talk.asker
    by = asker.model.name if asker else "no model: the best passages are the answer"
    say(f"{material.size}; {by}", err=True)
    if material.kinds:
        say(_kinds_to_ask_for(sorted(material.kinds)), err=True)
    say("Ctrl-D ends this", err=True)


async def _until_ctrl_c(work: Coroutine[Any, Any, None]) -> bool:
    """Do some work, which Ctrl-C stops, and nothing else; returns whether it was pressed."""
    task = asyncio.ensure_future(work)
    loop, pressed = asyncio.get_running_loop(), False

    def stop(*_: object) -> None:
        nonlocal pressed
        pressed = True
        loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGINT, stop)
    try:
        await asyncio.wait([task])
    finally:
        signal.signal(signal.SIGINT, before)
    if not task.cancelled():
        task.result()  # raises what went wrong
    return pressed


def _kinds_to_ask_for(kinds: Sequence[str]) -> str:
    return f"types of material to ask for: {' '.join(f'*{kind}*' for kind in kinds)}"


async def _next_question(library: SharedLibrary) -> str | None:
    """A line of standard input; None at its end, and where Ctrl-C ends the waiting for it."""
    if await _until_ctrl_c(library.release()):
        return None
    if sys.stdin is None:  # it is closed
        return None
    if sys.stdin.isatty():
        say(PROMPT, err=True, nl=False, style="bold")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's would wait for the line
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        line = ""
    finally:
        signal.signal(signal.SIGINT, before)
    return line.strip() if line else None


class _AnswerPrinter:
    """Asks, and shows what comes."""

    def __init__(self, project: Project, talk: Conversation, kind: str, no_model: bool, as_json: bool) -> None:
        self.project, self.talk, self.kind = project, talk, kind
        self.no_model, self.as_json = no_model, as_json

    async def answer(self, question: str) -> None:
        """Answer one question. Raises as `Conversation.ask`; of an answer that broke off, the
        sources are shown before."""
        from ...retrieve.answer import MOST_CHARACTERS, BrokenAnswer

        if len(question) > MOST_CHARACTERS:
            warn(f"the question is long: its first {MOST_CHARACTERS:,} characters are asked")
        if self.no_model:
            await self._look(question)
            return
        show = None if self.as_json else lambda part: say(part, nl=False)
        try:
            answer = await self.talk.ask(question, show, self.kind)
        except BrokenAnswer as error:
            if self.as_json:
                print_json(answer_as_json(replace(error.answer, notes=(*error.answer.notes, str(error)))))
            else:
                say("\n")
                self._list_sources(error.answer)
            raise
        if self.as_json:
            print_json(answer_as_json(answer))
        else:
            self._close(answer)

    async def _look(self, question: str) -> None:
        """The context alone."""
        from ...retrieve.answer import shown_context

        found, context = await self.talk.look(question, self.kind)
        if self.as_json:
            sources = [_source_as_json(source) for source in context.sources]
            print_json({"question": question, "queries": found.queries, "context": context.text,
                        "tokens": context.tokens, "sources": sources})  # fmt: skip
        else:
            say(shown_context(found, context))

    def _close(self, answer: Answer) -> None:
        """What stands below an answer."""
        say("\n" if answer.text else "", nl=bool(answer.text))
        if not answer.answered:
            self._say_unanswered(answer)
        self._list_sources(answer)
        if answer.by.startswith("extractive/"):
            say(f"({answer.by}: sentences of the notes, chosen by their words; no model was asked)", err=True)
        for note in answer.notes:
            warn(note)

    def _list_sources(self, answer: Answer) -> None:
        for source in answer.sources:
            if source.number in answer.cited:
                say(f"[{source.number}] {self._shown(source)}")

    def _say_unanswered(self, answer: Answer) -> None:
        said = "The notes do not answer this." if not answer.cited else "The notes answer this in part at most."
        say(said + (" Nearest:" if answer.nearest else ""))
        for ranked in answer.nearest:
            say(f"  {self._shown(ranked.section)}")
        if answer.kinds:
            say(_kinds_to_ask_for(answer.kinds), err=True)

    def _shown(self, there: Any) -> str:
        """The titles that lead to a source or a section, `file:line-line` from the working
        folder, and the heading's anchor."""
        path = relative(self.project.root / there.source)
        lines = there.place.rpartition(":")[2]
        place = f"{path}:{lines}" + (f" (#{there.anchor})" if there.anchor else "")
        return "  ".join(filter(None, [" > ".join(there.titles), place]))


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """An answer for programs."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "answered": answer.answered,
        "by": answer.by,
        "cited": list(answer.cited),
        "sources": [_source_as_json(source) for source in answer.sources],
        "nearest": [{"titles": ranked.section.titles, "place": ranked.section.place} for ranked in answer.nearest],
        "kinds": list(answer.kinds),
        "notes": list(answer.notes),
    }


def _source_as_json(source: CitedSource) -> dict[str, Any]:
    return {**asdict(source), "place": source.place}
