"""Open and describe the store of a project's index."""

from __future__ import annotations

import asyncio
import atexit
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

from ..errors import FolderError, StoreError
from ..files.marked import own_place
from ..files.walk import size_on_disk
from ..models.addresses import shown_address
from ..settings.models import Models
from ..settings.project import Project
from ..store.vector_store import VectorStore
from .collection import IndexInfo, read_info
from .records import FILES, check_collections

_open: dict[str, VectorStore] = {}


def project_store(project: Project, reads: bool = False) -> VectorStore:
    """Open a project's store, which the caller closes. Raise StoreError.

    reads: read-only, so that a copy serves for a read-only folder"""
    from ..store.opening import open_store
    from ..store.places import LocalStorage, RemoteSource

    database = project.database
    storage = project.storage
    check_collections(database.collection_name, database.companion_collection)
    if storage.memory:
        return open_store(":memory:")
    if storage.url:
        return open_store(RemoteSource(storage.url, storage.port or None, storage.timeout, storage.file))
    try:
        return open_store(LocalStorage(own_place(project.root, Path(storage.folder))), reads)
    except FolderError as error:
        raise StoreError(str(error)) from error


def shared_store(project: Project) -> VectorStore:
    """Return a project's shared store. Raise StoreError."""
    place = json.dumps([str(project.root), asdict(project.storage), asdict(project.database)], default=str)
    if place not in _open:
        _open[place] = project_store(project)
        atexit.register(_open[place].close)
    return _open[place]


@asynccontextmanager
async def open_index(project: Project, models: Models) -> AsyncIterator[VectorStore]:
    """Open a project's store for the block, then close it and the models. Raise StoreError and ConfigError."""
    store = await asyncio.to_thread(project_store, project)
    try:
        yield store
    finally:
        await models.close()
        store.close()


def index_info(project: Project, opened: VectorStore | None = None) -> IndexInfo:
    """Describe a project's index. opened: its store, if open. Raise StoreError and ConfigError."""
    database = project.database
    storage = project.storage
    store = opened or project_store(project, reads=True)
    folder = None if storage.memory or storage.url else project.root / storage.folder
    place = str(folder) if folder else shown_address(storage.url) if storage.url else "memory"
    try:
        return read_info(
            store,
            place,
            database.collection_name,
            database.companion_collection,
            size_on_disk(folder) if folder else None,
        )
    finally:
        if opened is None:
            store.close()


def collection_names(project: Project) -> list[str]:
    """Return the project's collection names, chunks first."""
    return [
        project.database.collection_name,
        project.database.companion_collection,
        project.database.collection_name + FILES,
    ]
