"""Asking a project's index: what the configuration says, put together."""

from __future__ import annotations

import asyncio

from .index import client_from_config, encoder_for
from .model_pool import Models
from .models.sources import ModelError
from .project import Project
from .quarto import find_inputs
from .retrieve.library import Library, RetrieveError
from .store.vector_store import StoreError, VectorStore


async def open_library(project: Project, models: Models, store: VectorStore | None = None) -> Library:
    """The project's collection, to be read and searched. Closing the store (the library's
    `store`) is the caller's. Raises StoreError, ModelError, and RetrieveError where nothing is
    indexed."""
    index = project.index
    opened = store or await asyncio.to_thread(client_from_config, project)
    try:
        if await asyncio.to_thread(opened.metadata, index.collection) is None:
            raise RetrieveError("nothing is indexed yet: lmm index FILES")
        encoder = await encoder_for(opened, project, models, index.collection, index.encoding)
    except (StoreError, ModelError, RetrieveError):
        opened.close()
        raise
    return Library(opened, index.collection, encoder, reading_order(project))


def reading_order(project: Project) -> list[str]:
    """The sources of a Quarto project in the order of its chapters; else none, and names
    give the order."""
    if not (project.root / "_quarto.yml").is_file():
        return []
    return [path.relative_to(project.root).as_posix() for path in find_inputs(project.root)]
