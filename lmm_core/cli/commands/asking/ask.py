"""The command `lmm ask`: answer questions from the indexed notes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....crawl import FOLDER
from ....errors import LmmError
from ....files.walk import shorten
from ....indexing.passages import Section
from ....logging import LoggerBase, say
from ....models.chat import then_close
from ....models.sources import STAND_IN, STAND_IN_NAME
from ....retrieve.answer import MOST_CHARACTERS, Answer, BrokenAnswer, Conversation, context_text, make_conversation
from ....retrieve.context import CitedSource
from ....retrieve.library import Library
from ....retrieve.plain_text import titles_path
from ....retrieve.search import known_type
from ....settings.models import Models
from ....settings.project import Project
from ...arguments import json_option, searched_project
from ...reports import ReportPrinter, exit_with_status, print_excerpt, print_json, warn
from ...session import read_questions, until_ctrl_c
from .search import warn_of_types

if TYPE_CHECKING:
    from ....retrieve.tools import Tools

PROMPT = "? "
# Same text as in the ask box (words.js)
BEST_MATCHES = "Best matches in your notes (no model is configured):"


@click.command()
@click.argument("words", nargs=-1, metavar="[QUESTION…]")
@click.option(
    "--type", default="", metavar="TYPE", help="Use only material of a type: exercise, definition, summary, …"
)
@click.option(
    "--budget", type=click.IntRange(200), metavar="TOKENS", help="How many tokens of the notes the model sees."
)
@click.option("--model", default="", metavar="NAME", help="The model to ask, as source/model.")
@click.option("--no-model", is_flag=True, help="Ask no model; print what it would see.")
@json_option
def ask(words: tuple[str, ...], type: str, budget: int | None, model: str, no_model: bool, as_json: bool) -> None:
    """Answer a question from the notes, with sources. Without a question, start a session.

    *exercise* in a question asks for exercises; any other type of material in the notes works the same way."""
    question = " ".join(words)
    if words and not question.strip():
        raise click.UsageError("The question is empty: say what you want to know.")
    project = searched_project()
    project = replace(project, ask=replace(project.ask, budget=budget or project.ask.budget))
    models, logger = Models(model, warn=warn), ReportPrinter()

    library = Library(project, models)

    async def work() -> None:
        async with _model_tools(library, not no_model) as tools:
            talk = make_conversation(project, models, library, not no_model, tools)
            printer = _AnswerPrinter(project, talk, type, no_model, as_json)
            if question:
                await printer.answer(question)
            else:
                await _hold_session(printer, library, logger)

    asyncio.run(then_close(work(), library))
    exit_with_status(logger)


@asynccontextmanager
async def _model_tools(library: Library, with_model: bool) -> AsyncIterator[Tools | None]:
    """Yield the model's tools, with indexes of `lmm md-index`."""
    project, models = library.project, library.models
    if not with_model or models.name(project, "major").source == STAND_IN:
        yield None
        return
    from ....retrieve.tools import Tools

    tools = Tools(library)
    if not Path(FOLDER).is_dir():
        yield tools
        return
    from ....crawl.tools import add_tools

    indexes = add_tools(tools, project, models, Path.cwd(), indexing=False)
    try:
        yield tools
    finally:
        await indexes.close()


async def _hold_session(printer: _AnswerPrinter, library: Library, logger: LoggerBase) -> None:
    await _greet(printer, library)
    async for question in read_questions(library, lambda: say(PROMPT, err=True, nl=False, style="bold")):
        try:
            stopped = await until_ctrl_c(printer.answer(question))
            say("\n(stopped)" if stopped else "")
        except LmmError as error:
            logger.error(str(error))


async def _greet(printer: _AnswerPrinter, library: Library) -> None:
    async with library.use() as opened:
        material = await opened.material()
    known_type(printer.type, material)
    asker = printer.talk.asker
    by = asker.model.name if asker else "no model: the best matches are shown"
    say(f"{material.size}; {by}", err=True)
    if material.types:
        say(_name_types(sorted(material.types)), err=True)
    say("Ctrl-D ends the session", err=True)


def _name_types(types: Sequence[str]) -> str:
    return f"types of material to ask for: {' '.join(f'*{type}*' for type in types)}"


class _AnswerPrinter:
    def __init__(self, project: Project, talk: Conversation, type: str, no_model: bool, as_json: bool) -> None:
        self.project, self.talk, self.type = project, talk, type
        self.no_model, self.as_json = no_model, as_json

    async def answer(self, question: str) -> None:
        """Print an answer. Raise the errors of `Conversation.ask`, after a broken answer's sources."""
        if len(question) > MOST_CHARACTERS:
            warn(f"the question is too long: only its first {MOST_CHARACTERS:,} characters are used")
        async with self.talk.retriever.library.use() as library:
            await warn_of_types(library, question)
        if self.no_model:
            await self._print_context(question)
            return
        is_shown = self.talk.asker is not None and not self.as_json
        show = (lambda part: say(part, nl=False)) if is_shown else None
        try:
            answer = await self.talk.ask(question, show, self.type)
        except BrokenAnswer as error:
            if self.as_json:
                print_json(_answer_as_json(replace(error.answer, notes=(*error.answer.notes, str(error)))))
            else:
                say("\n")
                self._list_sources(error.answer)
            raise
        if self.as_json:
            print_json(_answer_as_json(answer))
        else:
            self._print_rest(answer)

    async def _print_context(self, question: str) -> None:
        retrieval, context = await self.talk.look(question, self.type, as_for_model=True)
        if self.as_json:
            sources = [_source_as_json(source) for source in context.sources]
            print_json({"question": question, "queries": retrieval.queries, "context": context.text,
                        "tokens": context.tokens, "sources": sources})  # fmt: skip
        else:
            say(context_text(retrieval, context))

    def _print_rest(self, answer: Answer) -> None:
        if not answer.answered:
            say("\n" if answer.text else "", nl=bool(answer.text))
            self._say_unanswered(answer)
        if answer.by == STAND_IN_NAME:
            self._print_matches(answer)
        else:
            say("\n" if answer.answered else "", nl=answer.answered)
            self._list_sources(answer)
        for note in answer.notes:
            warn(note)

    def _print_matches(self, answer: Answer) -> None:
        say(BEST_MATCHES if answer.sources else "", nl=bool(answer.sources))
        for source in answer.sources:
            say(f"\n[{source.number}] {self._place_line(source)}")
            print_excerpt(source.text)

    def _list_sources(self, answer: Answer) -> None:
        for source in answer.sources:
            if source.number in answer.cited:
                say(f"[{source.number}] {self._place_line(source)}")

    def _say_unanswered(self, answer: Answer) -> None:
        message = "The notes do not answer this." if not answer.cited else "The notes answer this in part at most."
        if answer.by == STAND_IN_NAME:
            message = "Nothing in your notes fits this question well (no model is configured)."
        say(message + (" Nearest:" if answer.nearest else ""))
        for ranked in answer.nearest:
            say(f"  {self._place_line(ranked.section)}")
        if answer.types:
            say(_name_types(answer.types), err=True)

    def _place_line(self, source: CitedSource | Section) -> str:
        path = shorten(self.project.root / source.source)
        lines = source.place.rpartition(":")[2]
        page = f"page {source.page}" if source.page else ""
        beside = ", ".join(filter(None, [f"#{source.anchor}" if source.anchor else "", page]))
        place = f"{path}:{lines}" + (f" ({beside})" if beside else "")
        return "  ".join(filter(None, [titles_path(source.titles), place]))


def _answer_as_json(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "answer": answer.text,
        "answered": answer.answered,
        "by": answer.by,
        "cited": list(answer.cited),
        "sources": [_source_as_json(source) for source in answer.sources],
        "nearest": [{"titles": ranked.section.titles, "place": ranked.section.place} for ranked in answer.nearest],
        "types": list(answer.types),
        "notes": list(answer.notes),
    }


def _source_as_json(source: CitedSource) -> dict[str, Any]:
    fields = {**asdict(source), "place": source.place}
    return fields if source.page else {key: value for key, value in fields.items() if key != "page"}
