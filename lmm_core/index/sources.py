"""The files to index: each is read, annotated if that is asked for, and becomes chunks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..errors import ConfigError, MarkdownError, StoreError
from ..files.walk import name_problem, shown_name
from ..logging import LoggerBase, in_file
from ..markdown.blocks import Problem, serialize_blocks
from ..markdown.files import NOT_ANNOTATED, MarkdownDocument, MarkdownFile, is_notebook, read_markdown
from ..markdown.metadata.lmm_options import report_refused
from ..markdown.parse import parse_markdown_text
from ..scan.check.mistakes import FOR_ANNOTATIONS, FOR_INDEX, report_concerns
from ..scan.documents.document import docid_in, docid_of, project_of, reporting
from ..scan.header import report_errors
from ..settings.models import Models
from ..settings.project import Project, for_document
from ..settings.quarto_project import quarto_language
from .documents import Encoded, blocklist_encode, source_of, split_options
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


def encode_document(
    file: MarkdownFile, project: Project, encoder: Encoder, is_annotated: bool, logger: LoggerBase
) -> Encoded | None:
    """Return a file's chunks, or None for a wrong setting in its header, which is reported.

    project: with the knit rules of this file; is_annotated: whether the run made its annotations."""
    located = in_file(logger, file.path)
    problems: list[Problem] = []
    blocks = parse_markdown_text(file.text, problems)
    for problem in problems:
        located.warning(problem.message, problem.line)
    report_errors(blocks, located)
    report_refused(blocks, located)
    own = project_of(blocks, project, located)
    concerns = FOR_INDEX - FOR_ANNOTATIONS if is_annotated and not is_notebook(file.path) else FOR_INDEX
    report_concerns(blocks, own.rules if own else None, concerns, located)
    if own is None:
        return None
    docid, source = docid_of(file.path), source_of(file.path, project)
    try:
        return blocklist_encode(
            blocks, own, located, encoding=encoder.encoding, docid=docid, source=source, embedder=encoder.embedder
        )
    except ConfigError as error:
        located.error(str(error), 1)
        return None


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


def find_docid(file: MarkdownFile, project: Project) -> str | None:
    """Return the id that a file's chunks will have, or None if a setting in its header is wrong: it will have none.

    Only the header is parsed. project: see `encode_document`."""
    header = MarkdownDocument(file).header
    try:
        split_options(for_document(project, header).split, header.get("split"))
    except ConfigError:
        return None
    return docid_in(header) or docid_of(file.path)


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
