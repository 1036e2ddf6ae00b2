"""Upload documents from a program, which has a configuration and no open store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import LmmError
from ...index.refresh import Counts
from ...logging import ConsoleLogger, LoggerBase
from ...markdown.blocks import Block
from ...settings.project import Project
from ..encode import project_from
from ..models import Models
from .documents import STDIN
from .run import Upload
from .stores import global_client_from_config

if TYPE_CHECKING:
    from ...settings.config import ConfigSettings


def markdown_upload(
    files: Sequence[str | Path],
    config: ConfigSettings | Project | None = None,
    annotate: bool = False,
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index markdown files: each is read, encoded and uploaded; only what has changed is embedded.

    annotate: make missing annotations first, and write them into the files. Return what was
    done, or None if the store or a model failed, which is reported. Raise ConfigError."""
    paths = [Path(file) for file in files]
    return _upload(config, annotate, logger, lambda upload: upload.run(paths))


def blocklist_upload(
    blocks: Sequence[Block],
    config: ConfigSettings | Project | None = None,
    docid: str = "",
    source: str = "",
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index one document by its blocks; see `markdown_upload`.

    docid: used if the header names none; source: the file that the blocks are from."""
    return _upload(config, False, logger, lambda upload: upload.send(blocks, docid, source or f"{STDIN}{docid}"))


def _upload(
    config: ConfigSettings | Project | None,
    annotate: bool,
    logger: LoggerBase | None,
    work: Callable[[Upload], Awaitable[Counts]],
) -> Counts | None:
    from ...models.chat import run

    project, logger = project_from(config), logger or ConsoleLogger()
    models = Models(warn=logger.warning)

    async def upload() -> Counts:
        try:
            store = global_client_from_config(project)
            return await work(Upload(project, store, models, annotate, logger=logger))
        finally:
            await models.close()

    try:
        return run(upload())
    except LmmError as error:
        logger.error(str(error))
        return None
