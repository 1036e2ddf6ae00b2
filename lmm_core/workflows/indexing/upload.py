"""Upload documents from a program, which has a configuration and no open store."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from ...arguments import Checked, validated
from ...errors import LmmError, ReportedError
from ...index.refresh import Counts
from ...logging import ConsoleLogger, LoggerBase, one_line, report_failure
from ...markdown.blocks import Block, header_content
from ...markdown.parse import parse_markdown_text
from ...models.chat import run
from ...scan.documents.document import docid_in
from ...settings.models import Models
from ..encode import project_from
from .arguments import Config
from .documents import STDIN
from .run import Upload
from .stores import shared_store

Document: TypeAlias = str | Path | list[Block]


def as_documents(value: Any) -> list[Document]:
    """Return documents, each a file, a text or its blocks. Raise ValueError if the value is none of these."""
    if isinstance(value, str | Path):
        return [value]
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise ValueError(f"{value!r:.80} should be a file, a text, a list of these, or the blocks of a document")
    if value and all(isinstance(one, Block) for one in value):
        return [list(value)]
    if wrong := [one for one in value if not isinstance(one, str | Path | list)]:
        raise ValueError(f"{wrong[0]!r:.80} should be the path of a file, or a document's text")
    return list(value)


if TYPE_CHECKING:
    Documents: TypeAlias = str | Path | Sequence[str | Path] | Sequence[Block]
else:
    Documents = Annotated[Any, Checked(as_documents)]


@validated
def markdown_upload(
    documents: Documents, config: Config = None, annotate: bool = False, logger: LoggerBase | None = None
) -> Counts | None:
    """Index documents: each is read, encoded and uploaded; only what has changed is embedded.

    documents: a file, a document's text (a text with line breaks), a list of these, or the blocks of one
    document; annotate: make missing annotations first, and write them into the files. What names no file
    is reported. Return what was done, or None if the store or a model failed, which is reported.
    Raise ConfigError."""
    told = logger or ConsoleLogger()
    return _upload(config, annotate, told, lambda upload: _send_all(upload, as_documents(documents), told))


async def _send_all(upload: Upload, documents: Sequence[Document], logger: LoggerBase) -> Counts:
    """Index files in one run, then each text."""
    files = [Path(one) for one in documents if isinstance(one, str | Path) and _is_file(one, logger)]
    counts = await upload.run(files) if files else Counts()
    for one in documents:
        if isinstance(one, list) or _is_text(one):
            blocks = one if isinstance(one, list) else parse_markdown_text(str(one))
            docid = _docid_of(blocks, logger)
            counts += await upload.send(blocks, docid, f"{STDIN}{docid}")
    return counts


def _is_text(document: str | Path) -> bool:
    return isinstance(document, str) and any(sign in document for sign in "\n\r")


def _is_file(document: str | Path, logger: LoggerBase) -> bool:
    """Return True for the path of a file; that there is none is reported."""
    if _is_text(document):
        return False
    try:
        found = Path(document).is_file()
    except OSError:  # a text in one line is too long for a name
        found = False
    if not found:
        name = one_line(str(document), 200)
        logger.error(f"There is no file {name!r}. (The text of a document can be given, too: it has line breaks.)")
    return found


def _docid_of(blocks: Sequence[Block], logger: LoggerBase) -> str:
    """Return the id of a document that has no file: that of its header, or one made of its text, which is said."""
    if named := docid_in(header_content(blocks)):
        return named
    source = "".join(block.source for block in blocks).encode("utf-8", "surrogatepass")
    docid = f"text-{hashlib.blake2b(source, digest_size=6).hexdigest()}"
    logger.warning(
        f"A text has no `docid` in its header and is indexed as {docid!r}: with one, a changed text replaces this one."
    )
    return docid


def blocklist_upload(
    blocks: Sequence[Block],
    config: Config = None,
    docid: str = "",
    source: str = "",
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index one document by its blocks; see `markdown_upload`.

    docid: used if the header names none; source: the file that the blocks are from."""
    told = logger or ConsoleLogger()
    return _upload(config, False, told, lambda upload: upload.send(blocks, docid, source or f"{STDIN}{docid}"))


def _upload(
    config: Config, annotate: bool, logger: LoggerBase, work: Callable[[Upload], Awaitable[Counts]]
) -> Counts | None:
    project = project_from(config)
    models = Models(warn=logger.warning)

    async def upload() -> Counts:
        try:
            store = shared_store(project)
            return await work(Upload(project, store, models, annotate, logger=logger))
        finally:
            await models.close()

    try:
        return run(upload())
    except ReportedError:
        raise
    except (LmmError, OSError) as error:
        report_failure(error, logger)
        return None
