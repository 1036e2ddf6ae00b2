"""Opening the store at a place."""

from __future__ import annotations

from pathlib import Path

from ..errors import StoreError
from ..models.addresses import is_address
from .places import LocalStorage, Place, RemoteSource
from .vector_store import VectorStore


def open_store(place: Place) -> VectorStore:
    """Return the store at a place. Raise StoreError if it cannot be opened.

    A server is not contacted yet. An existing folder is locked for this process from now on."""
    if isinstance(place, LocalStorage):
        from .edge_store import EdgeStore

        return EdgeStore(Path(place.folder))
    if isinstance(place, RemoteSource):
        if not is_address(place.url):
            raise StoreError(
                f"{place.url!r} is not the address of a Qdrant server, which begins with http:// or https://"
            )
        from .qdrant_store import remote_store

        return remote_store(place)
    if place == ":memory:":
        from .qdrant_store import memory_store

        return memory_store()
    raise StoreError(f"{place!r} is not a place for an index: use ':memory:', a LocalStorage or a RemoteSource")
