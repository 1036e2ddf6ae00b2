"""Places of collections (memory, a folder, a server), and the stores that they hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

from ..errors import StoreError
from ..models.addresses import is_address, is_loopback, key_refusal, shown_address
from .vector_store import KEY_VARIABLE, VectorStore

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    Client: TypeAlias = VectorStore | QdrantClient

PORT = 6333


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """A folder, used by Qdrant's engine in this process."""

    folder: Path | str


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A Qdrant server or cluster.

    port: if the URL has none (6333); timeout: seconds for a request; file: the `config.toml` that names the server,
    "" if the person does. The key is in QDRANT_API_KEY."""

    url: str
    port: int | None = None
    timeout: float = 30.0
    file: str = ""

    @property
    def address(self) -> str:
        """Return scheme, host and port, for display."""
        address = shown_address(self.url).rstrip("/")
        parts = urlsplit(address)
        if parts.port:
            return address
        return f"{parts.scheme}://{parts.netloc}:{self.port or PORT}{parts.path}"

    def key(self) -> str:
        """Return the key, or "".

        Raise StoreError if it would be sent unencrypted, or to a server named only by a `config.toml`, which may come
        with a cloned folder."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if key and urlsplit(self.url).scheme != "https" and not _is_near(self.url):
            raise StoreError(
                f"{KEY_VARIABLE} is set, and {self.address} would get it unencrypted: give its address with https://"
            )
        if refusal := key and key_refusal(self.address, KEY_VARIABLE, self.file):
            raise StoreError(refusal)
        return key


Place = Literal[":memory:"] | LocalStorage | RemoteSource


def _is_near(url: str) -> bool:
    """Return True if a host is this machine or in its network (`http://qdrant:6333`)."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return is_loopback(url) or "." not in host


# Stores


def open_store(place: Place, reads: bool = False) -> VectorStore:
    """Return the store at a place. Raise StoreError if it cannot be opened.

    A server is not contacted yet; an existing folder is locked. reads: open a copy of a read-only folder, since the
    engine writes even to read."""
    if isinstance(place, LocalStorage):
        from .edge_store import EdgeStore, open_copy

        folder = Path(place.folder)
        is_writable = os.access(folder, os.W_OK) or not folder.is_dir()
        return open_copy(folder) if reads and not is_writable else EdgeStore(folder)
    if isinstance(place, RemoteSource):
        if not is_address(place.url):
            raise StoreError(
                f"{place.url!r} is not the address of a Qdrant server, which begins with http:// or https://"
            )
        from .qdrant_store import remote_store

        return remote_store(place)
    if place == ":memory:":
        from qdrant_client import QdrantClient

        from .qdrant_store import QdrantStore

        return QdrantStore(QdrantClient(":memory:"))
    raise StoreError(f"{place!r} is not a place for an index: use ':memory:', a LocalStorage or a RemoteSource")


def as_store(client: Client) -> VectorStore:
    """Return the store of a client: ours, or one of `qdrant-client`, which its owner closes.

    Raise ValueError for anything else."""
    if isinstance(client, VectorStore):
        return client
    from qdrant_client import QdrantClient

    from .qdrant_store import QdrantStore, ServerStore

    if not isinstance(client, QdrantClient):
        raise ValueError(
            f"this should be a store (client_from_config, open_store) or a QdrantClient, not {type(client).__name__}"
        )
    options = client.init_options
    if address := getattr(client._client, "rest_uri", ""):
        return ServerStore(client, RemoteSource(address), str(options["api_key"] or ""))
    return QdrantStore(client, place=f"in {options['path']}" if options["path"] else "in memory")
