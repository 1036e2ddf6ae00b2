"""The commands `lmm index` and `lmm chunks`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...files.walk import INDEXED
from ...indexing.collection import index_info, open_index
from ...indexing.encoding import Encoder
from ...indexing.records import Counts
from ...indexing.refresh import Refresh
from ...logging import one_line, put, say
from ...models.names import DEFAULT, NO_MODEL
from ...settings.models import Models
from ...settings.project import Project
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import (
    exclude_option,
    find_documents,
    folders_argument,
    json_option,
    project_at,
    quiet_option,
    searched_project,
)
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, warn

if TYPE_CHECKING:
    from ...indexing.chunks import Chunk

ONLY_WORDS = (
    "Only words are compared (BM25). To search by meaning, name a model in config.toml ([embeddings] dense_model)."
)
WORDS_INDEX = (
    "The index compares words (BM25). To search by meaning with {}, run `lmm index --rebuild` with the same FILES."
)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="FILES…")
@exclude_option
@click.option("--info", is_flag=True, help="Show what is in the index; takes no FILES.")
@click.option("--annotate", is_flag=True, help="Make missing annotations first, and write them into the files.")
@click.option("--prune", is_flag=True, help="Remove the chunks of all deleted files.")
@click.option("--rebuild", is_flag=True, help="Rebuild the index from all files.")
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be done.")
@quiet_option
@json_option
def index(
    paths: tuple[Path, ...],
    finder: DocumentFinder,
    info: bool,
    annotate: bool,
    prune: bool,
    rebuild: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Index documents. Only what has changed is embedded."""
    if info and (paths or annotate or prune or rebuild or dry_run):
        raise click.UsageError("--info takes no files, and no option but --json")
    if info:
        _print_info(as_json)
        return
    if not paths:
        raise click.UsageError("Missing argument 'FILES…'.")
    logger = ReportPrinter(quiet)
    files = find_documents(paths, logger, INDEXED, finder)
    skipped = [{"path": report.path, "reason": report.message} for report in logger.reports]
    project, began = project_at(files[0] if files else paths[0] / "-"), time.monotonic()
    models = Models(warn=warn)

    async def work() -> Counts:
        async with open_index(project, models) as store:
            with ProgressBar("index", quiet=quiet) as bar:
                refresh = Refresh(
                    project, store, models, annotate=annotate, dry_run=dry_run, logger=logger, progress=bar,
                    is_left_out=finder.left_out_finder(paths), rebuild=rebuild,
                )  # fmt: skip
                counts = await refresh.run(files)
            counts.removed += refresh.prune(None if prune else paths)
            if not (quiet or as_json):
                _say_how_to_compare(refresh.encoder, project)
            return counts

    counts = asyncio.run(work())
    seconds = time.monotonic() - began
    if as_json:
        print_json({**asdict(counts), "seconds": round(seconds, 2), "dry_run": dry_run, "skipped": skipped})
    elif not quiet:
        say(f"{counts.describe(dry_run)}, {seconds:.1f} s", err=True)
    exit_with_status(logger)


def _say_how_to_compare(encoder: Encoder, project: Project) -> None:
    if encoder.embedder is not None:
        return
    model = project.embeddings.dense_model
    is_named = project.embeddings.encoding == "default" and model not in (DEFAULT, NO_MODEL.source)
    say(WORDS_INDEX.format(model) if is_named else ONLY_WORDS, err=True)


def _print_info(as_json: bool) -> None:
    info = index_info(searched_project())
    if as_json:
        print_json(asdict(info))
        return
    for line in info.lines():
        say(one_line(line))


# Chunks


@click.command()
@folders_argument
@click.option("--markdown", is_flag=True, help="Print the texts of the chunks.")
@json_option
def chunks(paths: tuple[Path, ...], finder: DocumentFinder, markdown: bool, as_json: bool) -> None:
    """List the chunks that would be indexed."""
    from ...indexing.documents import encode_files

    logger = ReportPrinter()
    files = find_documents(paths, logger, INDEXED, finder)
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    encoded = encode_files(files, project_at, logger, Models(warn=warn))
    if as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in encoded])
    else:
        for chunk in encoded:
            place = f"{chunk.payload['source']}:{chunk.payload['line_start']}-{chunk.payload['line_end']}"
            if markdown:
                put(f"<!-- chunk: {place}, {len(chunk.content)} characters -->\n\n{chunk.content}\n\n")
            else:
                _print_chunk(chunk, place)
    exit_with_status(logger)


def _print_chunk(chunk: Chunk, place: str) -> None:
    payload = chunk.payload
    type = f" [{payload['type']}]" if payload.get("type") else ""
    say(one_line(f"{place:<36} {len(chunk.content):>5} characters  {' > '.join(payload['titles'])}{type}"))
    say("    " + " ".join(chunk.content.split())[:110])
    questions = chunk.annotations.split("\n")[1:]
    if questions:
        say(f"    with: {'; '.join(questions)[:106]}")
