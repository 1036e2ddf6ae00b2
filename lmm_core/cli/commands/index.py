"""The commands `lmm index` and `lmm chunks`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import ModelError, StoreError
from ...files.walk import INDEXED
from ...logging import one_line, put, say
from ...models.names import DEFAULT, NO_MODEL
from ...settings.models import Models
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
from ..reports import ProgressBar, ReportPrinter, exit_with_status, print_json, run_or_report, warn

if TYPE_CHECKING:
    from ...indexing.chunks import Chunk
    from ...indexing.encoding import Encoder
    from ...indexing.records import Counts

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
@click.option("--rebuild", is_flag=True, help="Build the index anew.")
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
    run = _IndexRun(paths, finder, annotate, prune, rebuild, dry_run)
    skipped = [{"path": report.path, "reason": report.message} for report in logger.reports]
    began, counts = time.monotonic(), run.index(files, logger)
    if counts is None:
        sys.exit(1)
    seconds = time.monotonic() - began
    if as_json:
        print_json({**asdict(counts), "seconds": round(seconds, 2), "dry_run": dry_run, "skipped": skipped})
    elif not quiet:
        run.print_counts(counts, seconds)
    exit_with_status(logger)


@dataclass
class _IndexRun:
    """A run of `lmm index` with its options. named_model: configured embedding model."""

    paths: tuple[Path, ...]
    finder: DocumentFinder
    annotate: bool
    prune: bool
    rebuild: bool = False
    dry_run: bool = False
    encoder: Encoder | None = field(default=None, init=False)
    named_model: str = field(default="", init=False)

    def index(self, files: Sequence[Path], logger: ReportPrinter) -> Counts | None:
        """Index files and return counts, or None after a reported failure."""
        from ...indexing.collection import open_index
        from ...indexing.refresh import Refresh

        project = project_at(files[0] if files else self.paths[0] / "-")
        models = Models(warn=warn)

        async def work() -> Counts:
            async with open_index(project, models) as store:
                with ProgressBar(logger.quiet, "index") as bar:
                    refresh = Refresh(
                        project, store, models, self.annotate, self.dry_run, logger, bar.expect, bar.add,
                        is_left_out=self.finder.left_out_finder(self.paths), rebuild=self.rebuild,
                    )  # fmt: skip
                    counts = await refresh.run(files)
                counts.removed += refresh.prune(None if self.prune else self.paths)
                self.encoder = refresh.encoder
                settings = project.embeddings
                by_meaning = settings.encoding == "default" and settings.dense_model not in (DEFAULT, NO_MODEL.source)
                self.named_model = settings.dense_model if by_meaning else ""
                return counts

        return run_or_report(work(), logger)

    def print_counts(self, counts: Counts, seconds: float) -> None:
        """Print counts, and how to enable search by meaning if no embedding model is available."""
        if self.encoder is not None and self.encoder.embedder is None:
            say(WORDS_INDEX.format(self.named_model) if self.named_model else ONLY_WORDS, err=True)
        say(f"{counts.describe(self.dry_run)}, {seconds:.1f} s", err=True)


def _print_info(as_json: bool) -> None:
    from ...indexing.collection import index_info

    project, logger = searched_project(), ReportPrinter()
    try:
        info = index_info(project)
    except StoreError as error:
        logger.error(str(error))
        sys.exit(1)
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
    try:
        encoded = encode_files(files, project_at, logger, Models(warn=warn))
    except (ModelError, StoreError) as error:
        logger.error(str(error))
        exit_with_status(logger)
    if as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in encoded])
    else:
        for chunk in encoded:
            _print_text(chunk) if markdown else _print_chunk(chunk)
    exit_with_status(logger)


def _print_text(chunk: Chunk) -> None:
    payload = chunk.payload
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    put(f"<!-- chunk: {place}, {len(chunk.content)} characters -->\n\n{chunk.content}\n\n")


def _print_chunk(chunk: Chunk) -> None:
    payload = chunk.payload
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    type = f" [{payload['type']}]" if payload.get("type") else ""
    say(one_line(f"{place:<36} {len(chunk.content):>5} characters  {' > '.join(payload['titles'])}{type}"))
    say("    " + " ".join(chunk.content.split())[:110])
    questions = chunk.annotations.split("\n")[1:]
    if questions:
        say(f"    with: {'; '.join(questions)[:106]}")
