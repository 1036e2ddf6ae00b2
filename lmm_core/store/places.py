"""Places of collections: memory, a folder, or a server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ..errors import StoreError, TrustError
from ..models.addresses import address_of, is_loopback, key_refusal, shown_address

KEY_VARIABLE = "QDRANT_API_KEY"
URL_VARIABLE = "QDRANT_URL"
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
        is_trusted = not key or self._is_named_by_the_person()
        if refusal := "" if is_trusted else key_refusal(self.address, KEY_VARIABLE, self.file):
            raise StoreError(f"{refusal} (or name the server in {URL_VARIABLE})")
        return key

    def _is_named_by_the_person(self) -> bool:
        """Return True if QDRANT_URL in the environment names the server."""
        if not self.file:
            return True
        try:
            address = RemoteSource(os.environ.get(URL_VARIABLE, "").strip()).address
            return address_of(address) == address_of(self.address)
        except (TrustError, ValueError):
            return False


Place = Literal[":memory:"] | LocalStorage | RemoteSource


def _is_near(url: str) -> bool:
    """Return True if a host is this machine or in its network (`http://qdrant:6333`)."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return is_loopback(url) or "." not in host
