"""The command `lmm search`: find chunks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

import click

from ....files.walk import shorten
from ....indexing.collection import afind_documents, chunks_for, unknown_keywords
from ....indexing.passages import Material, page_in
from ....logging import one_line, say
from ....markdown.visibility import KnitRules
from ....retrieve.library import Library
from ....retrieve.plain_text import in_unicode, labels_in, plain_text, titles_path
from ....retrieve.search import PASSAGE, UnknownType, search_points
from ....settings.models import Models
from ....settings.project import Project
from ....store.vector_store import ScoredPoint
from ...arguments import json_option, searched_project
from ...reports import beginning, print_json, warn, with_library, wrap

SNIPPET = 400  # characters: a whole passage, or the beginning of a section


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY…")
@click.option("-k", "limit", type=click.IntRange(1), metavar="N", help="How many results (6).")
@click.option("--type", default="", metavar="TYPE", help="Find only chunks of this type (exercise, summary, …).")
@click.option("--under", default="", metavar="PATH", help="Search only in a section (a path like 1.2) or a file.")
@click.option("--group", is_flag=True, help="Find whole sections instead of chunks.")
@json_option
def search(words: tuple[str, ...], limit: int | None, type: str, under: str, group: bool, as_json: bool) -> None:
    """Find passages by a question or by words. *exercise* in the query finds only exercises."""
    query = " ".join(words)
    if not query.strip():
        raise click.UsageError("The query is empty: say what to look for.")
    project = searched_project()

    async def work(library: Library) -> tuple[list[ScoredPoint], Material]:
        most = limit or 6
        await warn_of_types(library, query)
        for names in (await library.words()).synonyms.used(query):
            say(f"also searching for other names: {one_line(str(names))}", err=True)
        points = await search_points(library, query, chunks_for(most) if group else most, type, under)
        if group:
            points = await afind_documents(library.store, project.database.companion_collection, points, most)
        return points, await library.documents(str(point.payload.get("docid", "")) for point in points)

    points, material = with_library(project, Models(warn=warn), work)
    if not points:
        say(one_line(f"nothing found for {query!r}{f' under {under}' if under else ''}"), err=True)
    if as_json:
        print_json([{"id": point.id, "score": point.score, **point.payload} for point in points])
    else:
        labels = labels_in(material)
        for point in points:
            _print_point(point, project, *labels)


async def warn_of_types(library: Library, query: str) -> None:
    """Warn of misspelled or missing types (`*exrcise*`), which are searched for as words."""
    statistics = (await library.words()).statistics
    for word in unknown_keywords(query, statistics.types):
        if get_close_matches(word.lower(), [*statistics.types, *KnitRules().div_types]):  # else it may be emphasis
            warn(f"{UnknownType(word, statistics)}; *{word}* is searched for as a word")


def _print_point(point: ScoredPoint, project: Project, words: Mapping[str, str], links: Collection[str]) -> None:
    payload = point.payload
    source = str(payload.get("source", ""))
    type = payload.get("type")
    badge = f" [{type if isinstance(type, str) else ', '.join(type)}]" if type else ""
    texts = (str(payload.get(key) or "") for key in (PASSAGE, "page_content"))
    text = next(filter(None, (in_unicode(plain_text(text, words, links)) for text in texts)), "")
    say(one_line(titles_path(payload.get("titles") or []) or source), nl=False, style="bold")
    say(one_line(badge))
    page = f" (page {page_in(payload)})" if page_in(payload) else ""
    place = f"{shorten(project.root / source)}:{payload.get('line_start')}-{payload.get('line_end')}{page}"
    for line in [one_line(place), *wrap(beginning(text, SNIPPET)), ""]:
        say(f"    {line}".rstrip())
