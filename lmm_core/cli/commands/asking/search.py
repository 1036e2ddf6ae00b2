"""The command `lmm search`: find chunks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ....logging import counted, one_line, say
from ....settings.models import Models
from ....settings.project import Project
from ...arguments import json_option, searched_project
from ...reports import ReportPrinter, beginning, print_json, shorten, warn, wrap
from ...running import with_library

if TYPE_CHECKING:
    from ....retrieve.library import Library
    from ....store.vector_store import ScoredPoint

SNIPPET = 400  # characters: a whole passage, or the beginning of a section


@click.command()
@click.argument("query", required=False)
@click.option("-k", "limit", type=click.IntRange(1), metavar="N", help="How many results (6).")
@click.option("--type", default="", metavar="TYPE", help="Find only chunks of this type (exercise, summary, …).")
@click.option("--no-type", is_flag=True, help="Find only chunks without a type.")
@click.option("--under", default="", metavar="PATH", help="Search only in a section (a path like 1.2) or a file.")
@click.option("--group", is_flag=True, help="Find whole sections instead of chunks.")
@click.option("--values", "key", default="", metavar="KEY", help="List the values of a key of the chunks; no QUERY.")
@json_option
def search(
    query: str | None, limit: int | None, type: str, no_type: bool, under: str, group: bool, key: str, as_json: bool
) -> None:
    """Find passages by a question or by words. *exercise* in it puts exercises first."""
    from ....indexing.collection import afind_documents, chunks_for, find_types
    from ....retrieve.search import search_filter, search_points
    from ....store.vector_store import run_in_thread

    if key and (query or limit or type or no_type or under or group):
        raise click.UsageError("--values takes no QUERY, and no option but --json")
    if key:
        _print_values(key, as_json)
        return
    text, logger = _checked_query(query), ReportPrinter()
    project = searched_project()
    models = Models(warn=warn)

    async def work(library: Library) -> tuple[list[ScoredPoint], dict[str, int]]:
        store, collection, most = library.store, library.collection, limit or 6
        where = await run_in_thread(search_filter, store, collection, type, no_type, under)
        for names in (await library.words()).synonyms.used(text):
            say(f"searching also for other names: {one_line(str(names))}", err=True)
        points = await search_points(library, text, chunks_for(most) if group else most, where, warn)
        if group:
            points = await afind_documents(store, project.database.companion_collection, points, most)
        return points, {} if points else {name: count for name, count in find_types(store, collection).items() if name}

    result = with_library(project, models, work, logger)
    if result is None:
        sys.exit(1)
    points, types = result
    if not points:
        say(_nothing_found(text, type, under, types), err=True)
    if as_json:
        print_json([{"id": point.id, "score": point.score, **point.payload} for point in points])
    else:
        for point in points:
            _print_point(point, project)


def _checked_query(query: str | None) -> str:
    if query is None:
        raise click.UsageError("Missing argument 'QUERY'.")
    if not query.strip():
        raise click.UsageError("The query is empty: say what to look for.")
    return query


def _print_values(key: str, as_json: bool) -> None:
    from ....retrieve.search import count_values
    from ....store.vector_store import run_in_thread

    project, logger = searched_project(), ReportPrinter()

    async def work(library: Library) -> tuple[dict[str, int], int]:
        return await run_in_thread(count_values, library.store, library.collection, key)

    result = with_library(project, Models(warn=warn), work, logger)
    if result is None:
        sys.exit(1)
    counts, without = result
    if as_json:
        print_json(counts)
        return
    for value, count in counts.items():
        say(one_line(f"{count:>6}  {value}"))
    if without:
        say(f"{counted(without, 'chunk')} without {one_line(key)}", err=True)


def _nothing_found(query: str, type: str, under: str, types: dict[str, int]) -> str:
    where = f" under {under}" if under else ""
    if type and type not in types:
        from ....scan.check.words import nearest

        near = nearest(type, types)
        message = f"nothing has the type {type!r}" + (f"; did you mean {near!r}?" if near else "")
    else:
        message = f"nothing found for {query!r}{f' of the type {type!r}' if type else ''}{where}"
    type_list = ", ".join(f"{name} ({count})" for name, count in types.items())
    return one_line(f"{message} (the types here: {type_list})" if types else f"{message} (nothing here has a type)")


def _print_point(point: ScoredPoint, project: Project) -> None:
    from ....retrieve.plain_text import in_unicode, plain_text
    from ....retrieve.search import PASSAGE

    payload = point.payload
    titles = " > ".join(payload.get("titles") or [])
    type = payload.get("type")
    badge = f" [{type if isinstance(type, str) else ', '.join(type)}]" if type else ""
    path = shorten(project.root / str(payload.get("source", "")))
    text = in_unicode(plain_text(str(payload.get(PASSAGE) or payload.get("page_content", ""))))
    say(f"{point.score:.3f}  ", nl=False)
    say(one_line(titles), nl=False, style="bold")
    say(one_line(badge))
    say(f"       {one_line(str(path))}:{payload.get('line_start')}-{payload.get('line_end')}{_page(payload)}")
    for line in wrap(beginning(text, SNIPPET)):
        say(f"       {line}")
    say("")


def _page(payload: Mapping[str, Any]) -> str:
    from ....indexing.passages import page_of

    page = page_of(payload)
    return f" (page {page})" if page else ""
