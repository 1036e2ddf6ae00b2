"""Clients and uploads for programs, with validated arguments.

Clients, models and configurations are accepted in several forms, encodings also by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from ..arguments import Checked, validated
from ..errors import LmmError, ReportedError, StoreError
from ..logging import ConsoleLogger, LoggerBase, report_failure
from ..markdown.blocks import Block
from ..models.chat import run
from ..settings.models import Models
from ..settings.project import Project, project_from
from ..store.places import as_store
from ..store.vector_store import VectorStore
from .collection import project_store, shared_store
from .encoding import Encoder, EncodingModel, QdrantEmbeddingModel, make_encoder, make_encoder_of
from .records import Counts
from .refresh import Refresh
from .sources import STDIN

if TYPE_CHECKING:
    from ..settings.config import ConfigSettings
    from ..store.places import Client as Client

    Model: TypeAlias = QdrantEmbeddingModel | EncodingModel | Encoder | ConfigSettings | Project | str
    Config: TypeAlias = ConfigSettings | Project | None

Result = TypeVar("Result")


def as_model(value: Any) -> Encoder | QdrantEmbeddingModel | EncodingModel | ConfigSettings | Project:
    """Return an encoding or kind of vectors. Raise ValueError for another value."""
    from ..settings.config import ConfigSettings

    if isinstance(value, Encoder | QdrantEmbeddingModel | EncodingModel | ConfigSettings | Project):
        return value
    for kind in (QdrantEmbeddingModel, EncodingModel):
        if isinstance(value, str) and value in set(kind):
            return kind(value)
    names = dict.fromkeys([*map(str, QdrantEmbeddingModel), *map(str, EncodingModel)])
    raise ValueError(f"{value!r:.80} should be an encoding ({', '.join(names)}), a ConfigSettings or an Encoder")


def as_config(value: Any) -> ConfigSettings | Project | None:
    """Return a configuration. Raise ValueError if invalid."""
    from ..settings.config import ConfigSettings

    if value is None or isinstance(value, ConfigSettings | Project):
        return value
    raise ValueError(f"{value!r:.80} should be a ConfigSettings, or nothing for the one of the working folder")


if not TYPE_CHECKING:
    Client = Annotated[Any, Checked(as_store)]
    Model = Annotated[Any, Checked(as_model)]
    Config = Annotated[Any, Checked(as_config)]


async def aencoder_from(client: Client, collection_name: str, model: Model, logger: LoggerBase) -> Encoder:
    """Return a collection's encoder; warnings are logged. Raise StoreError, ModelError and ConfigError."""
    chosen, store = as_model(model), as_store(client)
    if isinstance(chosen, Encoder):
        return chosen
    models, identity = Models(warn=logger.warning), await asyncio.to_thread(store.metadata, collection_name) or {}
    if isinstance(chosen, QdrantEmbeddingModel | EncodingModel):
        return make_encoder_of(project_from(None), models, identity, chosen)
    project = project_from(chosen)
    return make_encoder(project, models, identity, project.embeddings.encoding)


# Clients


@validated
def client_from_config(config: Config = None, logger: LoggerBase | None = None) -> VectorStore | None:
    """Return the store that the configuration names; the caller closes it.

    config: by default the working folder's. Return None if it cannot be opened, which is reported. Raise ConfigError,
    and pydantic's ValidationError for wrong arguments."""
    return _open_store(project_store, config, logger)


@validated
def global_client_from_config(config: Config = None, logger: LoggerBase | None = None) -> VectorStore | None:
    """Return the store of `client_from_config`, the same each time; it is closed when the program ends."""
    return _open_store(shared_store, config, logger)


def _open_store(
    open_store: Callable[[Project], VectorStore], config: Config, logger: LoggerBase | None
) -> VectorStore | None:  # fmt: skip
    try:
        return open_store(project_from(config))
    except (StoreError, OSError) as error:
        report_failure(error, logger or ConsoleLogger())
        return None


# Uploads


@validated
def markdown_upload(
    documents: str | Path | Sequence[str | Path],
    config: Config = None,
    annotate: bool = False,
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index documents: only what has changed is embedded.

    documents: a file or a list of files; annotate: make missing annotations first, and write them into the files.
    Missing files are reported. Return the counts, or None if the store or a model failed, which is reported. Raise
    ConfigError."""
    logger = logger or ConsoleLogger()
    paths = [documents] if isinstance(documents, str | Path) else documents
    return _upload(config, logger, lambda upload: upload.run([*map(Path, paths)]), annotate=annotate)


def blocklist_upload(
    blocks: Sequence[Block],
    config: Config = None,
    docid: str = "",
    source: str = "",
    logger: LoggerBase | None = None,
) -> Counts | None:
    """Index one document by its blocks; see `markdown_upload`. docid: without one in the header; source: its file."""
    source = source or f"{STDIN}{docid}"
    return _upload(config, logger or ConsoleLogger(), lambda upload: upload.send(blocks, docid, source))


def _upload(
    config: Config, logger: LoggerBase, work: Callable[[Refresh], Awaitable[Counts]], *, annotate: bool = False
) -> Counts | None:
    project = project_from(config)
    models = Models(warn=logger.warning)

    async def upload() -> Counts:
        try:
            store = shared_store(project)
            return await work(Refresh(project, store, models, annotate=annotate, logger=logger))
        finally:
            await models.close()

    try:
        return run(upload())
    except ReportedError:
        raise
    except (LmmError, OSError) as error:
        report_failure(error, logger)
        return None
