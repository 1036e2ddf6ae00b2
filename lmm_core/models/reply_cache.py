"""The reply cache: what models have answered, kept on disk, so that an interrupted
run goes on where it stopped without paying twice.

It holds replies under hashes of what was asked; neither the questions nor keys. The
file that it is in, and what happens to it, is the same for other caches.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cache_file import CacheFile

MOST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How many replies there are, and their bytes."""

    replies: int
    bytes: int


def request_key(parts: Sequence[Any]) -> bytes:
    """The hash of a request (any JSON values): 20 bytes."""
    data = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=20).digest()


class ReplyCache(CacheFile):
    """Replies of models."""

    table = "replies"
    schema = (
        "CREATE TABLE IF NOT EXISTS replies "
        "(key BLOB PRIMARY KEY, reply TEXT NOT NULL, size INTEGER NOT NULL, used REAL NOT NULL)",
    )

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(folder, most_bytes)

    def find(self, key: bytes) -> str | None:
        """The reply to a request, None where there is none. Raises CacheError."""
        rows = self._run("SELECT reply FROM replies WHERE key = ?", key)
        if not rows:
            return None
        self._run("UPDATE replies SET used = ? WHERE key = ?", time.time(), key)
        return str(rows[0][0])

    def keep(self, key: bytes, reply: str) -> None:
        """Keep a reply; it is on disk when this returns. Raises CacheError."""
        size = len(reply.encode("utf-8"))
        self._run("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", key, reply, size, time.time())
        self._limit()

    def forget(self, key: bytes) -> None:
        """Remove a reply, if it is there. Raises CacheError."""
        self._run("DELETE FROM replies WHERE key = ?", key)

    def size(self) -> CacheSize:
        """How much is in it. Raises CacheError."""
        return CacheSize(*self._totals())

    def clear(self) -> CacheSize:
        """Empty it, also where it cannot be read; returns what was in it. Raises
        CacheError."""
        return CacheSize(*self._remove())
