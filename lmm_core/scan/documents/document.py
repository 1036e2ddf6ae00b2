"""The id and project of a document, and its RAG run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import ConfigError, LmmError
from ...files.walk import name_from
from ...logging import LoggerBase, report_failure
from ...markdown.blocks import Block, header_content
from ...markdown.files import project_root
from ...markdown.metadata.keys import find_key
from ...settings.project import Project, for_document
from ..check.finding import wrong_values

if TYPE_CHECKING:
    from ...models.annotators.annotator import Annotator
    from ..rag import RagRun

Result = TypeVar("Result")


def docid_of(path: Path, root: Path | None = None) -> str:
    """Return a file's default id: its path from the project's root."""
    return name_from(root or project_root(path), path)


def docid_in(header: Mapping[str, Any]) -> str:
    """Return the id in a header, or ""."""
    key = find_key(header, "docid")
    return str(header[key] or "") if key else ""


def project_of(blocks: Sequence[Block], project: Project, logger: LoggerBase) -> Project | None:
    """Return the project with the header's settings, or None after reporting an invalid one."""
    try:
        return for_document(project, header_content(blocks))
    except ConfigError as error:
        for finding in wrong_values(blocks, error):
            logger.error(finding.message, finding.line)
        return None


def new_rag_run(
    project: Project,
    annotator: Annotator,
    path: Path | None,
    logger: LoggerBase,
    finder: Callable[[Path], bool] | None = None,
) -> RagRun:
    """Return an unstarted RAG run with a project's options. finder: see `included_finder`"""
    from ..rag import RagRun

    docid, name = (docid_of(path, project.root), path.stem) if path is not None else ("", "")
    return RagRun(
        project.RAG, annotator, project.spelling, project.rules, logger, name=name, docid=docid,
        is_included=lambda: path is not None and (finder or _is_included)(path),
    )  # fmt: skip


def _is_included(path: Path) -> bool:
    from ...settings.quarto_inputs import included_finder  # slow, and rarely needed

    return included_finder()(path)


def reporting(work: Callable[[], Result], logger: LoggerBase) -> Result | None:
    """Return the result of work on a file, or None after reporting an error."""
    try:
        return work()
    except (OSError, LmmError) as error:
        report_failure(error, logger)
        return None
