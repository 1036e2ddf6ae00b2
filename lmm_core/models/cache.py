"""Cache replies and embeddings in an SQLite file of the user's cache folder.

Interrupted runs resume without paying twice. Keys are hashes of requests; no prompts or API keys are stored.
"""

from __future__ import annotations

import json
import os
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import CacheError
from ..files.names import cache_folder

if TYPE_CHECKING:
    import sqlite3  # slow to import, and often not needed

PATIENCE = 10.0  # seconds to wait for another writer
_ASKED_AT_ONCE = 500  # keys per statement
_SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, reply TEXT, vector BLOB)"
_SIZE = (
    "SELECT COUNT(reply), COUNT(vector), COALESCE(SUM(LENGTH(CAST(reply AS BLOB))), 0) + "
    "COALESCE(SUM(LENGTH(vector)), 0) FROM entries"
)
Result = TypeVar("Result")


class CacheSize(NamedTuple):
    """Numbers of replies and vectors, and their size in bytes."""

    replies: int
    vectors: int
    bytes: int


class Cache:
    """The cache, safe for several processes and threads. Vectors are 32-bit.

    All methods raise CacheError if the file is unusable."""

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or cache_folder()) / "cache.sqlite"
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        self._patience = PATIENCE

    def find_reply(self, key: bytes) -> str | None:
        reply = self._find([key], "reply").get(key)
        return reply if isinstance(reply, str) else None

    def find_vectors(self, keys: Sequence[bytes]) -> dict[bytes, list[float]]:
        rows = self._find(keys, "vector")
        return {key: array("f", data).tolist() for key, data in rows.items()
                if isinstance(data, bytes) and data and len(data) % 4 == 0}  # fmt: skip

    def keep_reply(self, key: bytes, reply: str) -> None:
        self._keep([(key, reply, None)])

    def keep_vectors(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        self._keep((key, None, array("f", vector).tobytes()) for key, vector in vectors.items())

    def forget(self, key: bytes) -> None:
        self._do(lambda connection: connection.execute("DELETE FROM entries WHERE key = ?", (key,)))

    def size(self) -> CacheSize:
        try:
            self.path.stat()
        except FileNotFoundError:
            return CacheSize(0, 0, 0)
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        return CacheSize(*self._ask(_SIZE)[0])

    def clear(self) -> CacheSize:
        """Empty the cache, even if unreadable. Return its former size."""
        try:
            size = self.size()
        except CacheError:
            size = CacheSize(0, 0, 0)
        self.close()
        try:
            for ending in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        except OSError as error:
            raise CacheError(f"{self.path}: {error.strerror}") from None
        return size

    def close(self) -> None:
        """Close the file; the next use reopens it."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _find(self, keys: Sequence[bytes], column: str) -> dict[bytes, Any]:
        values: dict[bytes, Any] = {}
        for start in range(0, len(keys), _ASKED_AT_ONCE):
            some = keys[start : start + _ASKED_AT_ONCE]
            places = ",".join("?" * len(some))
            values.update(self._ask(f"SELECT key, {column} FROM entries WHERE key IN ({places})", *some))
        return values

    def _keep(self, rows: Iterable[Sequence[Any]]) -> None:
        self._do(lambda connection: connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows))

    def _ask(self, question: str, *values: Any) -> list[Any]:
        return self._do(lambda connection: connection.execute(question, values).fetchall())

    def _do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        import sqlite3

        try:
            with self._lock, self._connection or self._open() as connection:
                return work(connection)
        except (sqlite3.Error, OSError) as error:
            self.close()
            self._patience = 0  # the lock may persist: wait only once
            raise CacheError(f"{self.path}: {error}. To start a new cache, run `lmm config cache --clear`.") from None

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=self._patience, check_same_thread=False)
        os.chmod(self.path, 0o600)
        with suppress(sqlite3.OperationalError):  # another process is switching
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)
        return self._connection


class CacheUser:
    """A model with a cache. If the cache is unusable, it calls `warn` once and goes on without."""

    cache: Cache | None
    warn: Callable[[str], None]

    def use_cache(self, work: Callable[[Cache], Result], otherwise: Result) -> Result:
        """Return the result of work with the cache, or `otherwise` without one."""
        try:
            return work(self.cache) if self.cache else otherwise
        except CacheError as error:
            self.cache = None
            self.warn(f"The cache is not used: {error}")
            return otherwise


def request_key(parts: Sequence[Any]) -> bytes:
    """Return a 20-byte hash of JSON values."""
    import hashlib

    data = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=20).digest()
