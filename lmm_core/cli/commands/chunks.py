"""The command `lmm chunks`: preview the chunks of documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...errors import ModelError, StoreError
from ...files.walk import INDEXED
from ...logging import one_line, put, say
from ...settings.models import Models
from ...settings.quarto_inputs import DocumentFinder
from ..arguments import find_documents, folders_argument, json_option, project_at
from ..reports import ReportPrinter, exit_with_status, print_json, warn

if TYPE_CHECKING:
    from ...indexing.chunks import Chunk


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
        found = encode_files(files, project_at, logger, Models(warn=warn))
    except (ModelError, StoreError) as error:
        logger.error(str(error))
        exit_with_status(logger)
    if as_json:
        print_json([{**chunk.payload, "id": chunk.uuid, "encoded": asdict(chunk.texts)} for chunk in found])
    else:
        for chunk in found:
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
