"""Read the files to index, detect changes and duplicate ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MarkdownError, StoreError
from ..files.walk import INDEXED, TEXT_SUFFIXES, is_inside, name_problem, shown_name
from ..logging import LoggerBase, in_file
from ..markdown.blocks import serialize_blocks
from ..markdown.files import NOT_ANNOTATED, MarkdownFile, is_notebook, read_markdown
from ..markdown.parse import parse_markdown_text
from ..markdown.visibility import KnitRules
from ..scan.documents.document import reporting
from ..settings.models import Models
from ..settings.project import Project
from ..settings.quarto_project import active_profiles, mapping_in, quarto_language, quarto_settings
from .encoding import VERSION, Encoder
from .records import BEGUN, FileRecord

if TYPE_CHECKING:
    from .documents import Encoded

_CONTENT_HASH = 20  # bytes
STDIN = "stdin:"  # prefix of the id of a document without file
# Contents of records and documents, hashed so that older ones are rewritten
RECORDED = "system, context_summary, anchors, statistics"


def read_indexed(paths: Sequence[Path], source_of: Callable[[Path], str], logger: LoggerBase) -> list[MarkdownFile]:
    """Return the readable documents; others are reported."""
    files = []
    for path in paths:
        if problem := name_problem(source := source_of(path)):
            logger.error(f"{shown_name(source)}: {problem}")
        elif (file := reporting(partial(read_markdown, path), logger)) is not None:
            files.append(file)
    return files


async def annotate_document(file: MarkdownFile, models: Models, logger: LoggerBase) -> MarkdownFile:
    """Annotate a file and return it, unchanged after a failure, which is reported."""
    from ..scan.documents.passes import RagWork, save_as

    located = in_file(logger, file.path)
    if is_notebook(file.path):
        located.warning(NOT_ANNOTATED)
        return file
    try:
        blocks = await RagWork(models).finish(parse_markdown_text(file.text), file, located)
        save_as(file, serialize_blocks(blocks), save=True)
        return read_markdown(file.path)
    except OSError as error:
        logger.error(f"{file.path}: {error.strerror or error}")
    except MarkdownError as error:
        logger.error(str(error))
    return file


@dataclass
class NotesReader:
    """A reader that makes chunks of notes. rules_of: a file's knit rules, by default the project's."""

    project: Project
    rules_of: Callable[[Path], KnitRules] | None = None
    _settings: dict[KnitRules, bytes] = field(default_factory=dict, init=False)

    def fingerprint(self, file: MarkdownFile, encoder: Encoder) -> str:
        """Return the hash of everything that a file's chunks depend on."""
        project = self._project_of(file.path)
        if project.rules not in self._settings:
            self._settings[project.rules] = _settings_of(project, encoder)
        kind = b"notebook" if is_notebook(file.path) else b""  # a notebook's text differs from its bytes
        content = hashlib.sha256(file.data).digest()[:_CONTENT_HASH]
        return hashlib.blake2b(self._settings[project.rules] + b"\0" + kind + content, digest_size=16).hexdigest()

    def docid(self, file: MarkdownFile) -> str | None:
        """Return the id of a file's chunks, or None for an invalid header."""
        from .documents import find_docid

        return find_docid(file, self._project_of(file.path))

    def encode(self, file: MarkdownFile, encoder: Encoder, logger: LoggerBase) -> Encoded | None:
        """Return a file's chunks, or None for an invalid header, which is reported."""
        from .documents import encode_document

        return encode_document(file, self._project_of(file.path), encoder, logger)

    def _project_of(self, path: Path) -> Project:
        return replace(self.project, rules=self.rules_of(path)) if self.rules_of is not None else self.project


def _settings_of(project: Project, encoder: Encoder) -> bytes:
    """Return all settings that affect a file's chunks."""
    rules = [sorted(project.rules.div_types), sorted(project.rules.keep)]
    split = {key: value for key, value in asdict(project.split).items() if key != "rules"}
    language = project.embeddings.language or quarto_language(project.root)
    annotations = [project.embeddings.annotations, project.embeddings.own_annotations]
    shown = [mapping_in(quarto_settings(project.root), "execute"), active_profiles()]
    settings = [split, annotations, rules, VERSION, language, shown, encoder.identity(), RECORDED]
    return json.dumps(settings, default=str, sort_keys=True).encode()


def is_gone(path: Path) -> bool:
    """Return True if a file is missing; False in an unreadable folder."""
    try:
        return not path.exists()
    except OSError:
        return False


def is_own(path: Path, root: Path) -> bool:
    """Return True for an existing document in the project."""
    return path.suffix.lower() in {*INDEXED, *TEXT_SUFFIXES} and path.is_file() and is_inside(path, root)


def check_docids(docids: Mapping[str, str], records: Mapping[str, FileRecord], root: Path) -> None:
    """Raise StoreError if two files have the same id."""
    stored = {source: record.docid for source, record in records.items()
              if record.fingerprint != BEGUN and not is_gone(root / source)}  # fmt: skip
    owners: dict[str, str] = {}
    for source, docid in (stored | {**docids}).items():
        other = owners.setdefault(docid, source)
        if other != source:
            raise StoreError(f"{other} and {source} have the same docid {docid!r}. Change one. Nothing was written.")
