"""A cache of models' replies on disk: an interrupted run resumes without paying twice.

It holds replies under hashes of the requests, never the requests themselves or keys.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .cache_file import CacheFile

MOST_BYTES = 100_000_000


class CacheSize(NamedTuple):
    """The number of replies in the cache, and their size in bytes."""

    replies: int
    bytes: int


def request_key(parts: Sequence[Any]) -> bytes:
    """Return the hash (20 bytes) of a request, given as JSON values."""
    data = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=20).digest()


class ReplyCache(CacheFile):
    """Replies of models, in an SQLite file."""

    table = "replies"
    schema = (
        "CREATE TABLE IF NOT EXISTS replies "
        "(key BLOB PRIMARY KEY, reply TEXT NOT NULL, size INTEGER NOT NULL, used REAL NOT NULL)",
    )

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(folder, most_bytes)

    def find(self, key: bytes) -> str | None:
        """Return the reply to a request, or None. Raise CacheError if the cache cannot be read."""
        rows = self._run("SELECT reply FROM replies WHERE key = ?", key)
        if not rows:
            return None
        self._run("UPDATE replies SET used = ? WHERE key = ?", time.time(), key)
        return str(rows[0][0])

    def keep(self, key: bytes, reply: str) -> None:
        """Write a reply to disk. Raise CacheError if that fails."""
        size = len(reply.encode("utf-8"))
        self._run("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", key, reply, size, time.time())
        self._limit()

    def forget(self, key: bytes) -> None:
        """Remove a reply, if it is there. Raise CacheError if that fails."""
        self._run("DELETE FROM replies WHERE key = ?", key)

    def size(self) -> CacheSize:
        """Return how much the cache holds. Raise CacheError if it cannot be read."""
        return CacheSize(*self._totals())

    def clear(self) -> CacheSize:
        """Empty the cache, even if it cannot be read, and return how much it held.

        Raise CacheError if its file cannot be removed."""
        return CacheSize(*self._remove())
