"""A cache of what was found in texts, in an SQLite file of the user's cache folder."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import CacheError
from ...models.cache import CacheFile

MOST_BYTES = 500_000_000  # a thousand chapters of 20 KB and their site take 130 MB
_SUM = 4  # bytes of the checksum
_BYTES = b"\0"  # before bytes, since no JSON begins so
OLD = 86_400  # seconds after which it is written again when a finding was last used


class KnownSize(NamedTuple):
    """The number of findings in the cache, and their size in bytes."""

    findings: int
    bytes: int


class Known(CacheFile):
    """Findings as JSON, in an SQLite file."""

    table = "known"
    schema = (
        "CREATE TABLE IF NOT EXISTS known "
        "(key BLOB PRIMARY KEY, finding BLOB NOT NULL, size INTEGER NOT NULL, used REAL NOT NULL)",
    )

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(folder, most_bytes)

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the findings that are known."""
        found: dict[bytes, Any] = {}
        old: list[tuple[float, bytes]] = []
        now = time.time()
        with suppress(CacheError):
            for key in keys:
                for finding, used in self._run("SELECT finding, used FROM known WHERE key = ?", key):
                    with suppress(ValueError):  # it is found again
                        found[key] = _unpacked(finding)
                    if now - used > OLD:
                        old.append((now, key))
            if old:
                self._run_many("UPDATE known SET used = ? WHERE key = ?", old)
        return found

    def keep(self, findings: Mapping[bytes, Any]) -> None:
        """Write findings, given as JSON values or bytes."""
        if not findings:
            return
        now = time.time()
        rows = [(key, _packed(finding)) for key, finding in findings.items()]
        with suppress(CacheError):
            self._run_many(
                "INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?)",
                [(key, data, len(data), now) for key, data in rows],
            )
            self._limit()

    def size(self) -> KnownSize:
        """Return how much the cache holds. Raise CacheError if it cannot be read."""
        return KnownSize(*self._totals())

    def clear(self) -> KnownSize:
        """Empty the cache, even if it cannot be read, and return how much it held.

        Raise CacheError if its file cannot be removed."""
        return KnownSize(*self._remove())


def _packed(finding: Any) -> bytes:
    """Return a finding as JSON, behind a checksum. A note may say half of a surrogate pair, which no text in SQLite
    can hold."""
    is_bytes = isinstance(finding, bytes)
    data = _BYTES + finding if is_bytes else json.dumps(finding, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return zlib.crc32(data).to_bytes(_SUM, "big") + data


def _unpacked(packed: Any) -> Any:
    """Return a finding. Raise ValueError for what was not written so, or is damaged."""
    if not isinstance(packed, bytes) or zlib.crc32(packed[_SUM:]).to_bytes(_SUM, "big") != packed[:_SUM]:
        raise ValueError("a damaged finding")
    data = packed[_SUM:]
    return data.removeprefix(_BYTES) if data.startswith(_BYTES) else json.loads(data.decode("utf-8", "surrogatepass"))
