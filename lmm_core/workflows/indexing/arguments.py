"""What the functions on collections take: a client, a model and a configuration, each in several forms.

For type checkers they are these forms; when a function is called, its argument is checked, and a text
that names an encoding becomes what it names.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from ...arguments import Checked
from ...errors import ModelError, StoreError
from ...index.encoding import Encoder, EncodingModel, QdrantEmbeddingModel
from ...logging import LoggerBase, report_failure
from ...settings.models import Models
from ...settings.project import Project
from ...store.opening import as_store
from ...store.threads import run_in_thread
from ..encode import make_encoder, make_encoder_of, project_from

if TYPE_CHECKING:
    from ...settings.config import ConfigSettings
    from ...store.opening import Client as Client

    Model: TypeAlias = QdrantEmbeddingModel | EncodingModel | Encoder | ConfigSettings | Project | str
    Config: TypeAlias = ConfigSettings | Project | None

Result = TypeVar("Result")


def as_model(value: Any) -> Encoder | QdrantEmbeddingModel | EncodingModel | ConfigSettings | Project:
    """Return what says how a collection is encoded. Raise ValueError if the value does not."""
    from ...settings.config import ConfigSettings

    if isinstance(value, Encoder | QdrantEmbeddingModel | EncodingModel | ConfigSettings | Project):
        return value
    for kind in (QdrantEmbeddingModel, EncodingModel):
        if isinstance(value, str) and value in set(kind):
            return kind(value)
    names = dict.fromkeys([*map(str, QdrantEmbeddingModel), *map(str, EncodingModel)])
    raise ValueError(f"{value!r:.80} should be an encoding ({', '.join(names)}), a ConfigSettings or an Encoder")


def as_config(value: Any) -> ConfigSettings | Project | None:
    """Return a configuration. Raise ValueError if it is none."""
    from ...settings.config import ConfigSettings

    if value is None or isinstance(value, ConfigSettings | Project):
        return value
    raise ValueError(f"{value!r:.80} should be a ConfigSettings, or nothing for the one of the working folder")


if not TYPE_CHECKING:
    Client = Annotated[Any, Checked(as_store)]
    Model = Annotated[Any, Checked(as_model)]
    Config = Annotated[Any, Checked(as_config)]


async def aencoder_from(client: Client, collection_name: str, model: Model, logger: LoggerBase) -> Encoder:
    """Return the encoder for a collection; warnings go to the logger. Raise StoreError, ModelError and ConfigError."""
    wanted, store = as_model(model), as_store(client)
    if isinstance(wanted, Encoder):
        return wanted
    models, known = Models(warn=logger.warning), await run_in_thread(store.metadata, collection_name) or {}
    if isinstance(wanted, QdrantEmbeddingModel | EncodingModel):
        return make_encoder_of(project_from(None), models, known, wanted)
    project = project_from(wanted)
    return make_encoder(project, models, known, project.embeddings.encoding)


async def reported(work: Coroutine[Any, Any, Result], otherwise: Result, logger: LoggerBase) -> Result:
    """Return the result of work on a store, or something else if the store, a model or the system fails.

    That is reported, so that it rises if the logger raises."""
    try:
        return await work
    except (StoreError, ModelError, OSError) as error:
        report_failure(error, logger)
        return otherwise
