"""The commands to index and search folders of unprepared markdown."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import click

from ...crawl.catalogue import database_at
from ...crawl.indexer import FolderIndexer, Indexed
from ...crawl.search import MOST_SHOWN, SHOWN, Indexes, SnippetHit
from ...logging import Report, counted, one_line, printable, say
from ...models.chat import then_close
from ...retrieve.plain_text import in_unicode, plain_text
from ...settings.models import Models
from ..arguments import json_option, project_at, quiet_option
from ..reports import ProgressBar, ReportPrinter, beginning, exit_with_status, print_json, warn

Result = TypeVar("Result")
SNIPPET = 200  # characters
db_root_option = click.option(
    "--db-root", type=click.Path(file_okay=False, path_type=Path), default=Path(".md_index"), show_default=True,
    metavar="DIR", help="The folder of the indexes.",
)  # fmt: skip


@click.command("md-index")
@click.option("--root", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder to index.")
@click.option("--name", default="", help="The index's name (default: the folder's).")
@click.option("--description", default="", metavar="TEXT",
              help="What it is about (default: the first heading of its README).")  # fmt: skip
@click.option("--ignore", multiple=True, metavar="PATTERN", help="Leave out files that match, as in .gitignore.")
@db_root_option
@quiet_option
@json_option
def md_index(
    root: Path, name: str, description: str, ignore: tuple[str, ...], db_root: Path, quiet: bool, as_json: bool
) -> None:  # fmt: skip
    """Index any folder of markdown. Only what has changed is read."""

    began, logger, models, project = time.monotonic(), ReportPrinter(quiet), Models(warn=warn), project_at(None)

    async def work() -> Indexed:
        database = database_at(project, db_root)
        with ProgressBar(quiet=quiet) as bar:
            indexer = FolderIndexer(database, models, bar, logger)
            return await indexer.index(root, name, description, ignore)

    indexed = asyncio.run(then_close(work(), models))
    for file in indexed.skipped:
        logger.report(Report("warning", f"skipped: {file.reason}", str(root / file.doc_path)))
    seconds = time.monotonic() - began
    if as_json:
        print_json({**asdict(indexed), "seconds": round(seconds, 2)})
    elif not quiet:
        say(f"{_describe(indexed)}, {seconds:.1f} s", err=True)
    exit_with_status(logger)


def _describe(indexed: Indexed) -> str:
    skipped = f", {len(indexed.skipped)} skipped" if indexed.skipped else ""
    removed = f", {indexed.removed} gone" if indexed.removed else ""
    return (
        f"{indexed.name}: {counted(indexed.files, 'file')} ({indexed.read} read, {indexed.unchanged} unchanged"
        f"{removed}{skipped}), {counted(indexed.snippets, 'snippet')} "
        f"({indexed.written} written, {indexed.dropped} removed)"
    )


@click.command("md-search")
@click.argument("words", nargs=-1)
@click.option("--query", default="", hidden=True)  # agents may use this name
@click.option(
    "--index", default="all", show_default=True, metavar="NAME", help="The index to search; all: the best five."
)
@click.option("-k", "k", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="How many results.")
@click.option("--full", is_flag=True, help="Show whole snippets, not only the part that fits best.")
@db_root_option
@json_option
def md_search(words: tuple[str, ...], query: str, index: str, k: int, full: bool, db_root: Path, as_json: bool) -> None:
    """Find snippets in folders indexed by lmm md-index."""
    query = " ".join(words) or query
    if not query.strip():
        raise click.UsageError("The query is empty: say what to look for.")
    models, project = Models(warn=warn), project_at(None)

    async def work() -> list[SnippetHit]:
        indexes = Indexes(database_at(project, db_root), models)
        return await then_close(indexes.search(query, index, k, MOST_SHOWN if full else SHOWN), indexes, models)

    hits = asyncio.run(work())
    if as_json:
        print_json([asdict(hit) for hit in hits])
    else:
        for hit in hits:
            _print_hit(hit, full)
        if not hits:
            say("nothing was found", err=True)


def _print_hit(match: SnippetHit, full: bool) -> None:
    say(f"{match.score:.3f}  ", nl=False)
    say(one_line(match.index), nl=False, style="bold")
    say(one_line(f"  {match.source}"))
    if full:
        say(f"\n{printable(match.snippet)}\n")
    else:
        say(f"       {beginning(in_unicode(plain_text(match.snippet)), SNIPPET)}\n")
