"""Commands for the index: what is sent to it, and what is found in it."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import ConfigError, MarkdownError
from ...files.outputs import HTML, MARKDOWN, write_output
from ...files.walk import INDEXED
from ...logging import LoggerBase, counted, one_line, put, say
from ...markdown.blocks import Block, HeaderBlock, TextBlock, serialize_blocks
from ...markdown.files import MarkdownFile
from ...settings.project import Project
from ...workflows.models import Models
from ...workflows.passes import work_on
from ..reports import (
    Bar,
    Told,
    check_written,
    find,
    json_option,
    leave,
    output_option,
    paths_argument,
    print_json,
    project_at,
    run,
    tell,
    told,
    warn,
)  # fmt: skip

if TYPE_CHECKING:
    from ...store.vector_store import ScoredPoint

SNIPPET = 200  # characters


@click.command()
@paths_argument
@click.option("--annotate", is_flag=True, help="Make missing annotations first, and write them into the files.")
@click.option("--prune", is_flag=True, help="Remove what is stored of files that are gone.")
@click.option("--rebuild", is_flag=True, help="Make the collections anew.")
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be done.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors alone.")
@json_option
def index(
    paths: tuple[Path, ...], annotate: bool, prune: bool, rebuild: bool, dry_run: bool, quiet: bool, as_json: bool
) -> None:
    """Send documents to the index; only what has changed is embedded."""
    from ...index.refresh import Counts
    from ...workflows.index import Upload, client_from_config, drop_collections

    began, logger = time.monotonic(), Told(quiet)
    files = find(paths, logger, INDEXED)
    skipped = [{"path": report.path, "reason": report.message} for report in logger.reports]
    project = project_at(files[0] if files else paths[0] / "-")
    models = Models(warn=warn)

    async def work() -> Counts:
        store = await asyncio.to_thread(client_from_config, project)
        try:
            if rebuild and not dry_run:
                drop_collections(store, project)
            with Bar(quiet) as bar:
                upload = Upload(project, store, models, annotate, dry_run, logger, bar.expect, bar.add)
                counts = await upload.run(files)
            counts.removed += upload.prune() if prune else 0
            _advise(upload.encoder, quiet)
            return counts
        finally:
            await models.close()
            store.close()

    counts = told(work(), logger)
    if counts is None:
        sys.exit(1)
    if as_json:
        seconds = round(time.monotonic() - began, 2)
        print_json({**asdict(counts), "seconds": seconds, "dry_run": dry_run, "skipped": skipped})
    elif not quiet:
        say(f"{_summary(counts, dry_run)}, {time.monotonic() - began:.1f} s", err=True)
    leave(logger)


def _summary(counts: Any, dry_run: bool) -> str:
    moved = f", {counts.moved} moved" if counts.moved else ""
    would = "would be " if dry_run else ""
    return (
        f"{counted(counts.documents, 'document')}, {counted(counts.written, 'chunk')} {would}written, "
        f"{counts.removed} removed{moved}, "
        f"{counts.unchanged} unchanged"
    )


def _advise(encoder: Any, quiet: bool) -> None:
    if encoder is not None and encoder.embedder is None and not quiet:
        say("words alone are compared (BM25); for search by meaning: lmm models get, then --rebuild", err=True)


@click.command()
@click.argument("query", required=True)
@click.option("-k", "limit", type=click.IntRange(1), default=6, metavar="N", help="How many results (6).")
@click.option("--type", "kind", default="", metavar="TYPE", help="Chunks of this type alone (exercise, summary, …).")
@click.option("--no-type", is_flag=True, help="Chunks without a type alone.")
@click.option("--under", default="", metavar="PATH", help="A part alone: section path (1.2) or file.")
@click.option("--group", is_flag=True, help="Whole sections in place of chunks.")
@json_option
def search(query: str, limit: int, kind: str, no_type: bool, under: str, group: bool, as_json: bool) -> None:
    """Find chunks by a question or by words; *exercise* in it puts exercises first."""
    from ...workflows.index import client_from_config, find_in_index

    if not query.strip():
        raise click.UsageError("an empty query: say what is looked for")
    logger = Told()
    project = searched_project()
    models = Models(warn=warn)

    async def work() -> list[ScoredPoint]:
        store = await asyncio.to_thread(client_from_config, project)
        try:
            return await find_in_index(store, project, models, query, limit, kind, no_type, under, group)
        finally:
            await models.close()
            store.close()

    points = told(work(), logger)
    if points is None:
        sys.exit(1)
    if as_json:
        print_json([{"id": point.id, "score": point.score, **point.payload} for point in points])
    else:
        for point in points:
            _print_point(point, project)


def _print_point(point: ScoredPoint, project: Project) -> None:
    payload = point.payload
    titles = " > ".join(payload.get("titles") or [])
    kind = payload.get("type")
    shown = f" [{kind if isinstance(kind, str) else ', '.join(kind)}]" if kind else ""
    path = relative(project.root / str(payload.get("source", "")))
    text = " ".join(str(payload.get("page_content", "")).split())
    say(f"{point.score:.3f}  ", nl=False)
    say(one_line(titles), nl=False, style="bold")
    say(one_line(shown))
    say(f"       {one_line(str(path))}:{payload.get('line_start')}-{payload.get('line_end')}")
    say(f"       {text[:SNIPPET]}{'…' if len(text) > SNIPPET else ''}\n")


def relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def searched_project() -> Project:
    """The working folder's project; where that has no index, the one just below that has
    (`lmm index book` has put it there, if the book is a project of its own)."""
    project = project_at(Path.cwd() / "-")
    index = project.index
    if index.memory or index.url or (project.root / index.folder).exists():
        return project
    below = [folder for folder in sorted(Path.cwd().iterdir()) if (folder / index.folder).is_dir()]
    if len(below) > 1:
        names = ", ".join(folder.name for folder in below)
        raise click.UsageError(f"no index here, and several below ({names}): search in one of these folders")
    return project_at(below[0] / "-") if below else project


# What would be indexed


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@output_option("-o", "--output", shown="The file to write; else standard output.")
def split(path: Path, output: Path | None) -> None:
    """Write a document as it is cut for the index, as markdown to look at."""
    from ...index.split import scan_split
    from ...workflows.index import split_options

    async def work(blocks: list[Block], file: MarkdownFile, logger: LoggerBase) -> list[Block]:
        project = project_at(path)
        said = blocks[0].content.get("split") if blocks and isinstance(blocks[0], HeaderBlock) else None
        try:
            opts = split_options(project.index.split, said)
        except ConfigError as error:
            raise MarkdownError(f"{path}:1: {error}") from None
        return _shown_apart(scan_split(blocks, opts, logger=logger))

    logger = Told()
    if output is not None:
        check_written(output, [path], MARKDOWN)
    try:
        _, blocks = run(work_on(path, work, logger))
        text = serialize_blocks(blocks)
        if output is None:
            put(text)
        else:
            write_output(output, text.encode("utf-8"))
    except (OSError, MarkdownError) as error:
        tell(error, path, logger)
    leave(logger)


def _shown_apart(blocks: list[Block]) -> list[Block]:
    """The chunks with a remark before each, since some end in the middle of a paragraph."""
    from ...index.split import ChunkBlock

    shown: list[Block] = []
    for block in blocks:
        if isinstance(block, ChunkBlock):
            lines, size = f"{block.line}-{block.line_end}", len(block.content)
            gap = "" if not shown or shown[-1].source.endswith("\n\n") else "\n\n"
            shown.append(TextBlock(f"{gap}<!-- chunk: lines {lines}, {size} characters -->\n\n"))
        shown.append(block)
    return shown


@click.command()
@paths_argument
@output_option("--html", "html", shown="Write a page to look at.")
@json_option
def chunks(paths: tuple[Path, ...], html: Path | None, as_json: bool) -> None:
    """List the chunks of documents: sizes, places, and what will be embedded."""
    from ...workflows.index import encode_files
    from ...workflows.pages.chunk_page import chunk_page

    logger = Told()
    files = find(paths, logger, INDEXED)
    if html is not None:
        check_written(html, files, HTML)
    found = encode_files(files, project_at, logger)
    if html is not None:
        write_output(html, chunk_page(found).encode("utf-8"))
    elif as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in found])
    else:
        for chunk in found:
            _print_chunk(chunk)
    leave(logger)


def _print_chunk(chunk: Any) -> None:
    payload = chunk.payload
    place = f"{payload['source']}:{payload['line_start']}-{payload['line_end']}"
    kind = f" [{payload['type']}]" if payload.get("type") else ""
    say(one_line(f"{place:<36} {len(chunk.content):>5} characters  {' > '.join(payload['titles'])}{kind}"))
    say("    " + " ".join(chunk.content.split())[:110])
    questions = chunk.annotations.split("\n")[1:]
    if questions:
        say(f"    with: {'; '.join(questions)[:106]}")
