"""The store that a project's index is in, and what is in it."""

from __future__ import annotations

import asyncio
import atexit
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FolderError, StoreError
from ...files.marked import own_place
from ...files.walk import size_on_disk
from ...index.collection import IndexInfo, read_info
from ...index.refresh import FILES, check_collections
from ...models.addresses import shown_address
from ...scan.options import SplitOpts
from ...settings.project import Project
from ...store.vector_store import VectorStore
from ..encode import project_from
from ..models import Models

if TYPE_CHECKING:
    from ...settings.config import ConfigSettings

_open: dict[str, VectorStore] = {}


def client_from_config(config: ConfigSettings | Project | None = None) -> VectorStore:
    """Return the store that the configuration names; the caller closes it. Raise StoreError and ConfigError."""
    from ...store.opening import open_store
    from ...store.places import LocalStorage, RemoteSource

    project = project_from(config)
    index = project.index
    check_collections(index.collection, index.companion)
    if index.memory:
        return open_store(":memory:")
    if index.url:
        return open_store(RemoteSource(index.url, **index.server))
    try:
        return open_store(LocalStorage(own_place(project.root, Path(index.folder))))
    except FolderError as error:
        raise StoreError(str(error)) from error


def global_client_from_config(config: ConfigSettings | Project | None = None) -> VectorStore:
    """Return the store that the configuration names, the same one each time; it is closed when the program ends."""
    project = project_from(config)
    place = json.dumps([str(project.root), asdict(replace(project.index, split=SplitOpts()))], default=str)
    if place not in _open:
        _open[place] = client_from_config(project)
        atexit.register(_open[place].close)
    return _open[place]


@asynccontextmanager
async def open_index(project: Project, models: Models) -> AsyncIterator[VectorStore]:
    """Open a project's store for the block, and close it and the models after it. Raise StoreError and ConfigError."""
    store = await asyncio.to_thread(client_from_config, project)
    try:
        yield store
    finally:
        await models.close()
        store.close()


def index_info(project: Project, opened: VectorStore | None = None) -> IndexInfo:
    """Return what is in a project's index. opened: its store, if it is open. Raise StoreError and ConfigError."""
    index, store = project.index, opened or client_from_config(project)
    folder = None if index.memory or index.url else project.root / index.folder
    place = str(folder) if folder else shown_address(index.url) if index.url else "memory"
    try:
        return read_info(store, place, index.collection, index.companion, size_on_disk(folder) if folder else None)
    finally:
        if opened is None:
            store.close()


def collection_names(project: Project) -> list[str]:
    """Return the names of the project's collections, that of the chunks first."""
    return [project.index.collection, project.index.companion, project.index.collection + FILES]


def drop_collections(store: VectorStore, project: Project) -> None:
    """Remove the project's collections. Raise StoreError."""
    for name in collection_names(project):
        store.drop(name)
