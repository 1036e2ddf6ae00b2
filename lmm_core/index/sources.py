"""The files to index: which there are, what has changed in them, and which have the same id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..errors import MarkdownError, StoreError
from ..files.walk import name_problem, shown_name
from ..logging import LoggerBase, in_file
from ..markdown.blocks import serialize_blocks
from ..markdown.files import NOT_ANNOTATED, MarkdownFile, is_notebook, read_markdown
from ..markdown.parse import parse_markdown_text
from ..scan.documents.document import reporting
from ..settings.models import Models
from ..settings.project import Project
from ..settings.quarto_project import quarto_language
from .encoding import VERSION, Encoder
from .records import BEGUN, FileRecord

_CONTENT_HASH = 20  # bytes
STDIN = "stdin:"  # before the id of a document that has no file
# What records and documents have that they had not before; in each hash, so that older ones are written anew.
RECORDED = "system, context_summary, anchors, statistics"


def read_indexed(paths: Sequence[Path], source_of: Callable[[Path], str], logger: LoggerBase) -> list[MarkdownFile]:
    """Return the documents that can be read and recorded by their names; the others are reported."""
    files = []
    for path in paths:
        if problem := name_problem(source := source_of(path)):
            logger.error(f"{shown_name(source)}: {problem}")
        elif (file := reporting(path, partial(read_markdown, path), logger)) is not None:
            files.append(file)
    return files


async def annotate_document(file: MarkdownFile, models: Models, logger: LoggerBase) -> MarkdownFile:
    """Return a file as it is after annotating it; if that fails, it is reported, and the file is as before."""
    from ..scan.documents.passes import RagWork, save_as

    located = in_file(logger, file.path)
    if is_notebook(file.path):
        located.warning(NOT_ANNOTATED)
        return file
    try:
        blocks = await RagWork(models).finish(parse_markdown_text(file.text), file, located)
        save_as(file, serialize_blocks(blocks), True)
        return read_markdown(file.path)
    except OSError as error:
        logger.error(f"{file.path}: {error.strerror or error}")
    except MarkdownError as error:
        logger.error(str(error))
    return file


def hash_document(file: MarkdownFile, settings: bytes) -> str:
    """Return the hash of everything that a file's chunks depend on. settings: see `indexed_settings`."""
    kind = b"notebook" if is_notebook(file.path) else b""  # a notebook has another text than its bytes
    content = hashlib.sha256(file.data).digest()[:_CONTENT_HASH]
    return hashlib.blake2b(settings + b"\0" + kind + content, digest_size=16).hexdigest()


def indexed_settings(project: Project, encoder: Encoder | None) -> bytes:
    """Return all that a file's chunks depend on beside the file. project: with the knit rules of the file."""
    rules = [sorted(project.rules.div_types), sorted(project.rules.keep)]
    split = {key: value for key, value in asdict(project.split).items() if key != "rules"}
    language = project.embeddings.language or quarto_language(project.root)
    annotations = [project.embeddings.annotations, project.embeddings.own_annotations]
    identity = encoder.identity() if encoder else ""
    settings = [split, annotations, rules, VERSION, language, identity, RECORDED]
    return json.dumps(settings, default=str, sort_keys=True).encode()


def is_gone(path: Path) -> bool:
    """Return True if there is no such file. One in a folder that cannot be looked into is not gone."""
    try:
        return not path.exists()
    except OSError:
        return False


def check_docids(docids: Mapping[str, str], records: Mapping[str, FileRecord], root: Path) -> None:
    """Raise StoreError if two files have the same id, before anything is written.

    docids: by file. A file that was begun and not finished does not count, because its id is not known."""
    stored = {source: record.docid for source, record in records.items()
              if record.fingerprint != BEGUN and not is_gone(root / source)}  # fmt: skip
    owners: dict[str, str] = {}
    for source, docid in (stored | {**docids}).items():
        other = owners.setdefault(docid, source)
        if other != source:
            raise StoreError(f"{other} and {source} have the same docid {docid!r}: change one; nothing was written")
