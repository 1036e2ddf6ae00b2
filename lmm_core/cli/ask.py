"""The command for questions to the index."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from ..model_pool import Models
from ..models.sources import ModelError
from ..project import Project
from ..store.chunks import SUMMARY
from .find import relative, searched_project
from .shared import Told, json_option, leave, print_json, printable, warn, with_library

if TYPE_CHECKING:
    from ..retrieve.answer import Answer, Conversation
    from ..retrieve.context import Source
    from ..retrieve.library import Library

PROMPT = "? "


class _WithKinds(click.Command):
    """Its help names the types of material that the index has."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if kinds := _kinds_there():
            formatter.write_paragraph()
            formatter.write_text(f"In this index, {_kinds_to_ask_for(kinds)}")


def _kinds_there() -> list[str]:
    """The types of material in the index of the working folder; none where it cannot be read."""
    from ..index import client_from_config
    from ..store.vector_store import StoreError

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
    from ..ask import conversation
    from ..retrieve.tools import Tools

    if question is not None and not question.strip():
        raise click.UsageError("an empty question: say what you want to know")
    project = searched_project()
    asked = project.ask
    asked = replace(asked, context=context or asked.context, level=level or asked.level, budget=budget or asked.budget)
    project = replace(project, ask=asked)
    models, logger = Models(model, warn=warn), Told()

    async def work(library: Library) -> None:
        talk = conversation(project, models, library, not no_model, Tools(library))
        reader = _Reader(project, talk, kind, no_model, as_json)
        if question is not None:
            await reader.answer(question)
        else:
            await _session(reader, talk, logger)

    with_library(project, models, work, logger)
    leave(logger)


async def _session(reader: _Reader, talk: Conversation, logger: Told) -> None:
    """Questions of a person, or of a file's lines, until there are no more."""
    material = await talk.retriever.library.material()
    by = talk.asker.model.name if talk.asker else "no model: the best passages are the answer"
    click.echo(f"{len(material.documents)} documents, {len(material.sections)} sections; {by}", err=True)
    if material.kinds:
        click.echo(_kinds_to_ask_for(sorted(material.kinds)), err=True)
    click.echo("Ctrl-D ends this", err=True)
    while (question := _next_question()) is not None:
        if question.strip():
            try:
                await reader.answer(question)
                click.echo()
            except ModelError as error:
                logger.error(str(error))


def _kinds_to_ask_for(kinds: Sequence[str]) -> str:
    return f"types of material to ask for: {' '.join(f'*{kind}*' for kind in kinds)}"


def _next_question() -> str | None:
    """A line of standard input; None at its end."""
    if sys.stdin.isatty():
        click.echo(click.style(PROMPT, bold=True), err=True, nl=False)
    line = sys.stdin.readline()
    return line.strip() if line else None


class _Reader:
    """Asks, and shows what comes."""

    def __init__(self, project: Project, talk: Conversation, kind: str, no_model: bool, as_json: bool) -> None:
        self.project, self.talk, self.kind = project, talk, kind
        self.no_model, self.as_json = no_model, as_json

    async def answer(self, question: str) -> None:
        """Answer one question."""
        from ..retrieve.answer import MOST_CHARACTERS

        if len(question) > MOST_CHARACTERS:
            warn(f"the question is long: its first {MOST_CHARACTERS:,} characters are asked")
        if self.no_model:
            await self._look(question)
            return
        show = None if self.as_json else lambda part: click.echo(printable(part), nl=False)
        answer = await self.talk.ask(question, show, self.kind)
        if self.as_json:
            print_json(answer_as_json(answer))
        else:
            self._close(answer)

    async def _look(self, question: str) -> None:
        """The context alone."""
        found, context = await self.talk.look(question, self.kind)
        if self.as_json:
            sources = [_source_as_json(source) for source in context.sources]
            print_json({"question": question, "queries": found.queries, "context": context.text,
                        "tokens": context.tokens, "sources": sources})  # fmt: skip
        else:
            click.echo(context.text or "(nothing was found)")

    def _close(self, answer: Answer) -> None:
        """What stands below an answer."""
        click.echo("\n" if answer.text else "", nl=bool(answer.text))
        if not answer.answered:
            self._say_unanswered(answer)
        for source in answer.sources:
            if source.number in answer.cited:
                click.echo(f"[{source.number}] {' > '.join(source.titles)}  {self._place(source)}")
        if answer.by.startswith("extractive/"):
            click.echo(f"({answer.by}: sentences of the notes, chosen by their words; no model was asked)", err=True)
        for note in answer.notes:
            warn(note)

    def _say_unanswered(self, answer: Answer) -> None:
        said = "The notes do not answer this." if not answer.cited else "The notes answer this in part at most."
        click.echo(said + (" Nearest:" if answer.nearest else ""))
        for ranked in answer.nearest:
            click.echo(f"  {' > '.join(ranked.section.titles) or ranked.section.source}  {self._place(ranked.section)}")
        if answer.kinds:
            click.echo(_kinds_to_ask_for(answer.kinds), err=True)

    def _place(self, there: Any) -> str:
        """`file:line-line`, from the working folder, and the heading's anchor."""
        path = relative(self.project.root / there.source)
        lines = there.place.rpartition(":")[2]
        return f"{path}:{lines}" + (f" (#{there.anchor})" if there.anchor else "")


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


def _source_as_json(source: Source) -> dict[str, Any]:
    return {**asdict(source), "place": source.place}
