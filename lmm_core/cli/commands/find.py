"""The commands on the index: send documents to it, search in it, and look at the chunks."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import MarkdownError, ModelError, StoreError
from ...files.outputs import HTML, MARKDOWN, write_output
from ...files.walk import INDEXED
from ...logging import counted, one_line, put, say
from ...markdown.blocks import serialize_blocks
from ...scan.check.near_misses import nearest
from ...settings.project import Project
from ...workflows.models import Models
from ...workflows.passes import work_on
from ..arguments import (
    check_written,
    find_documents,
    json_option,
    output_option,
    paths_argument,
    project_at,
    quiet_option,
    searched_project,
)
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, report_failure, shorten, warn
from ..running import run, run_or_report

if TYPE_CHECKING:
    from ...index.chunks import Chunk
    from ...index.encoding import Encoder
    from ...index.refresh import Counts
    from ...store.vector_store import ScoredPoint

SNIPPET = 400  # characters: a passage whole, and the beginning of a section


@click.command()
@paths_argument
@click.option("--annotate", is_flag=True, help="Make missing annotations first, and write them into the files.")
@click.option("--prune", is_flag=True, help="Remove the chunks of files that are gone.")
@click.option("--rebuild", is_flag=True, help="Make the collections anew.")
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be done.")
@quiet_option
@json_option
def index(
    paths: tuple[Path, ...], annotate: bool, prune: bool, rebuild: bool, dry_run: bool, quiet: bool, as_json: bool
) -> None:
    """Send documents to the index. Only what has changed is embedded."""
    from ...workflows.index import Upload, describe_counts, describe_languages, open_index

    began, logger = time.monotonic(), ReportPrinter(quiet)
    files = find_documents(paths, logger, INDEXED)
    skipped = [{"path": report.path, "reason": report.message} for report in logger.reports]
    project = project_at(files[0] if files else paths[0] / "-")
    models = Models(warn=warn)

    languages = Counter[tuple[str, str]]()

    async def work() -> Counts:
        async with open_index(project, models) as store:
            with ProgressBar(quiet) as bar:
                upload = Upload(project, store, models, annotate, dry_run, logger, bar.expect, bar.add, rebuild=rebuild)
                counts = await upload.run(files)
            counts.removed += upload.prune() if prune else 0
            languages.update(upload.languages)
            _advise(upload.encoder, quiet)
            return counts

    counts = run_or_report(work(), logger)
    if counts is None:
        sys.exit(1)
    seconds = time.monotonic() - began
    if as_json:
        print_json({**asdict(counts), "seconds": round(seconds, 2), "dry_run": dry_run, "skipped": skipped})
    elif not quiet:
        done = f"{counted(counts.documents, 'document')}, {describe_counts(counts, dry_run)}"
        for line in filter(None, [f"{done}, {seconds:.1f} s", describe_languages(languages)]):
            say(line, err=True)
    exit_with_status(logger)


def _advise(encoder: Encoder | None, quiet: bool) -> None:
    """Say how to get search by meaning, if there is no embedding model."""
    if encoder is not None and encoder.embedder is None and not quiet:
        say(
            "Only words are compared (BM25). To search by meaning, run `lmm models get`, then `lmm index --rebuild`.",
            err=True,
        )


@click.command()
@click.argument("query", required=True)
@click.option("-k", "limit", type=click.IntRange(1), default=6, metavar="N", help="How many results (6).")
@click.option(
    "--type", "kind", default="", metavar="TYPE", help="Find only chunks of this type (exercise, summary, …)."
)
@click.option("--no-type", is_flag=True, help="Find only chunks without a type.")
@click.option("--under", default="", metavar="PATH", help="Search only in a section (a path like 1.2) or a file.")
@click.option("--group", is_flag=True, help="Find whole sections in place of chunks.")
@json_option
def search(query: str, limit: int, kind: str, no_type: bool, under: str, group: bool, as_json: bool) -> None:
    """Find chunks by a question or by words. *exercise* in it puts exercises first."""
    from ...errors import RetrieveError
    from ...workflows.index import find_in_index, open_index, types_in_index

    if not query.strip():
        raise click.UsageError("an empty query: say what to look for")
    logger = ReportPrinter()
    project = searched_project()
    models = Models(warn=warn)

    def tell(names: str) -> None:
        say(f"searching also for other names: {one_line(names)}", err=True)

    async def work() -> tuple[list[ScoredPoint], dict[str, int]]:
        async with open_index(project, models) as store:
            points = await find_in_index(store, project, models, query, limit, kind, no_type, under, group, tell)
            return points, {} if points else types_in_index(store, project)

    found = run_or_report(work(), logger, RetrieveError)
    if found is None:
        sys.exit(1)
    points, types = found
    if not points:
        say(_nothing_found(query, kind, under, types), err=True)
    if as_json:
        print_json([{"id": point.id, "score": point.score, **point.payload} for point in points])
    else:
        for point in points:
            _print_point(point, project)


def _nothing_found(query: str, kind: str, under: str, types: dict[str, int]) -> str:
    """Return a sentence about a search without results, with the types of material that there are."""
    where = f" under {under}" if under else ""
    if kind and kind not in types:
        near = nearest(kind, types)
        said = f"nothing has the type {kind!r}" + (f"; did you mean {near!r}?" if near else "")
    else:
        said = f"nothing found for {query!r}{f' of the type {kind!r}' if kind else ''}{where}"
    listed = ", ".join(f"{name} ({count})" for name, count in types.items())
    return one_line(f"{said} (the types here: {listed})" if types else f"{said} (nothing here has a type)")


def _print_point(point: ScoredPoint, project: Project) -> None:
    from ...retrieve.search import PASSAGE

    payload = point.payload
    titles = " > ".join(payload.get("titles") or [])
    kind = payload.get("type")
    badge = f" [{kind if isinstance(kind, str) else ', '.join(kind)}]" if kind else ""
    path = shorten(project.root / str(payload.get("source", "")))
    text = " ".join(str(payload.get(PASSAGE) or payload.get("page_content", "")).split())
    say(f"{point.score:.3f}  ", nl=False)
    say(one_line(titles), nl=False, style="bold")
    say(one_line(badge))
    say(f"       {one_line(str(path))}:{payload.get('line_start')}-{payload.get('line_end')}")
    say(f"       {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}\n")


# What would be indexed


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_option("-o", "--output", help="The file to write (default: standard output).")
def split(path: Path, output: Path | None) -> None:
    """Write a document as it is cut for the index, as markdown to look at."""
    from ...workflows.encode import split_work

    logger = ReportPrinter()
    if output is not None:
        check_written(output, [path], MARKDOWN)
    try:
        _, blocks = run(work_on(path, split_work(project_at, Models(warn=warn)), logger))
        text = serialize_blocks(blocks)
        if output is None:
            put(text)
        else:
            write_output(output, text.encode("utf-8"))
    except (ModelError, StoreError) as error:
        logger.error(str(error))
    except (OSError, MarkdownError) as error:
        report_failure(error, path, logger)
    exit_with_status(logger)


@click.command()
@paths_argument
@output_option("--html", "html", help="Write a page to look at.")
@json_option
def chunks(paths: tuple[Path, ...], html: Path | None, as_json: bool) -> None:
    """List the chunks of documents: sizes, places, and what will be embedded."""
    from ...workflows.encode import encode_files
    from ...workflows.pages.chunk_page import chunk_page

    logger = ReportPrinter()
    files = find_documents(paths, logger, INDEXED)
    if html is not None:
        check_written(html, files, HTML)
    try:
        found = encode_files(files, project_at, logger, Models(warn=warn))
    except (ModelError, StoreError) as error:
        logger.error(str(error))
        exit_with_status(logger)
    if html is not None:
        write_output(html, chunk_page(found).encode("utf-8"))
    elif as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in found])
    else:
        for chunk in found:
            _print_chunk(chunk)
    exit_with_status(logger)


def _print_chunk(chunk: Chunk) -> None:
    payload = chunk.payload
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    kind = f" [{payload['type']}]" if payload.get("type") else ""
    say(one_line(f"{place:<36} {len(chunk.content):>5} characters  {' > '.join(payload['titles'])}{kind}"))
    say("    " + " ".join(chunk.content.split())[:110])
    questions = chunk.annotations.split("\n")[1:]
    if questions:
        say(f"    with: {'; '.join(questions)[:106]}")
