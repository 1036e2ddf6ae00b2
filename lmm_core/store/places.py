"""Where collections can be: in memory, in a folder, on a server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ..errors import StoreError, TrustError
from ..models.sources import is_address, is_loopback, shown_address
from ..models.trust import address_of, key_refusal
from .vector_store import VectorStore

KEY_VARIABLE = "QDRANT_API_KEY"
URL_VARIABLE = "QDRANT_URL"
PORT = 6333
GRPC_PORT = 6334


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """A folder: Qdrant's engine in this process."""

    folder: Path | str


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """A Qdrant server or cluster. The port is the URL's, else `port`, else 6333; timeout:
    seconds for one request. What stands after `timeout` is for collections that are made.
    The key is in the environment (QDRANT_API_KEY) and never part of this. file: the
    `config.toml` that names the server; "" where the person does (environment, code)."""

    url: str
    port: int | None = None
    prefer_grpc: bool = False
    grpc_port: int = GRPC_PORT
    timeout: float = 30.0
    shard_number: int | None = None
    replication_factor: int | None = None
    on_disk: bool = False
    quantization: bool | Literal["scalar", "binary"] = False
    file: str = ""

    @property
    def address(self) -> str:
        """Scheme, host and port, as they are shown."""
        shown = shown_address(self.url).rstrip("/")
        parts = urlsplit(shown)
        if parts.port:
            return shown
        return f"{parts.scheme}://{parts.netloc}:{self.port or PORT}{parts.path}"

    def key(self) -> str:
        """The key, "" where there is none. Raises StoreError where it would be sent
        through the internet for all to read, or to a server that a `config.toml` names,
        which may come with a cloned folder, and the person does not."""
        key = os.environ.get(KEY_VARIABLE, "").strip()
        if key and urlsplit(self.url).scheme != "https" and not _is_near(self.url):
            raise StoreError(
                f"{KEY_VARIABLE} is set, and {self.address} would get it unencrypted: give its address with https://"
            )
        if key and not self._is_named_by_the_person():
            for url in self._servers():
                if refusal := key_refusal(url, KEY_VARIABLE, self.file):
                    raise StoreError(f"{refusal} (or name the server in {URL_VARIABLE})")
        return key

    def _is_named_by_the_person(self) -> bool:
        """Whether the server is the one that QDRANT_URL names in the environment."""
        if not self.file:
            return True
        try:
            named = RemoteSource(os.environ.get(URL_VARIABLE, "").strip()).address
            return address_of(named) == address_of(self.address)
        except (TrustError, ValueError):
            return False

    def _servers(self) -> list[str]:
        """The addresses that get the key: gRPC has a port of its own."""
        if not self.prefer_grpc:
            return [self.address]
        parts = urlsplit(self.address)
        return [self.address, f"{parts.scheme}://{parts.netloc.rpartition(':')[0]}:{self.grpc_port}"]


Place = Literal[":memory:"] | LocalStorage | RemoteSource


def open_store(place: Place) -> VectorStore:
    """The store at a place. A server is not asked anything yet; a folder that is there is
    ours from now on. Raises StoreError."""
    if isinstance(place, LocalStorage):
        from .edge_store import EdgeStore

        return EdgeStore(Path(place.folder))
    if isinstance(place, RemoteSource):
        if not is_address(place.url):
            raise StoreError(f"{place.url!r} is no address of a Qdrant server: http://… or https://… is wanted")
        from .qdrant_store import remote_store

        return remote_store(place)
    if place == ":memory:":
        from .qdrant_store import memory_store

        return memory_store()
    raise StoreError(f"{place!r} is no place for an index: ':memory:', a LocalStorage or a RemoteSource is wanted")


def _is_near(url: str) -> bool:
    """Whether a host is this machine or one of the network around it (`http://qdrant:6333`)."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return is_loopback(url) or "." not in host
