"""The reply cache: what models have answered, kept on disk, so that an interrupted
run goes on where it stopped without paying twice.

It holds replies under hashes of what was asked; neither the questions nor keys. The
file that it is in, and what happens to it, is the same for other caches.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import CacheError
from ..files.user import cache_folder

MOST_BYTES = 100_000_000
_CHECKED_EVERY = 50  # adding up all sizes takes milliseconds
_EVICT = (
    "DELETE FROM {0} WHERE key IN (SELECT key FROM "
    "(SELECT key, SUM(size) OVER (ORDER BY used DESC, key) AS together FROM {0}) WHERE together > ?)"
)


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How many replies there are, and their bytes."""

    replies: int
    bytes: int


def request_key(parts: Sequence[Any]) -> bytes:
    """The hash of a request (any JSON values): 20 bytes."""
    data = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=20).digest()


class CacheFile:
    """A table in an SQLite file of the cache folder, which many processes and threads may
    use at once. Its rows have a `key`, a `size` in bytes, and when they were `used` last:
    beyond `most_bytes` those that were used longest ago go."""

    table: ClassVar[str]
    schema: ClassVar[tuple[str, ...]]

    def __init__(self, folder: Path | None, most_bytes: int) -> None:
        self.path = (folder or cache_folder()) / f"{self.table}.sqlite"
        self.most_bytes = most_bytes
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._kept = 0

    def close(self) -> None:
        """Close the file; it is opened again where it is needed."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _totals(self) -> tuple[int, int]:
        """How many rows there are, and their bytes. Raises CacheError."""
        try:
            self.path.stat()
        except FileNotFoundError:
            return 0, 0
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        count, total = self._run(f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM {self.table}")[0]
        return int(count), int(total)

    def _remove(self) -> tuple[int, int]:
        """Empty it, also where it cannot be read; returns what was in it. Raises
        CacheError."""
        try:
            totals = self._totals()
        except CacheError:
            totals = 0, 0
        self.close()
        try:
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        return totals

    def _limit(self) -> None:
        """To be called whenever something was kept."""
        if self._kept % _CHECKED_EVERY == 0 and self._totals()[1] > self.most_bytes:
            # Down to nine tenths of the limit, so that not every new row evicts one.
            self._run(_EVICT.format(self.table), self.most_bytes * 0.9)
        self._kept += 1

    def _run(self, statement: str, *values: Any) -> list[Any]:
        try:
            with self._lock, self._connection or self._open() as connection:
                return connection.execute(statement, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise self._broken(error) from None

    def _run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            with self._lock, self._connection or self._open() as connection:
                connection.executemany(statement, rows)
        except (sqlite3.Error, OSError) as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> CacheError:
        self.close()
        return CacheError(f"{self.path}: {error} (lmm cache --clear makes a new one)")

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
        os.chmod(self.path, 0o600)
        with suppress(sqlite3.OperationalError):  # another process is making it so just now
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        for statement in self.schema:
            self._connection.execute(statement)
        return self._connection


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
