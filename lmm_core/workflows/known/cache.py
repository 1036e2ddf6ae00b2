"""What the steps of a course have found out about texts, by content, so that unchanged files cost next to nothing.

A finding is filed under a hash of all that it was made of: the program's own code, the settings, and the
bytes of the text. So no time stamp is trusted, and two edits within the same second are two texts. Nothing
is lost with this cache; where it cannot be read or written, the work is done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ...errors import CacheError
from ...models.cache_file import CacheFile

Thing = TypeVar("Thing")
MOST_BYTES = 200_000_000
OLD = 86_400  # seconds after which it is written again when a finding was last used


@dataclass(frozen=True, slots=True)
class KnownSize:
    """The number of findings in the cache, and their size in bytes."""

    findings: int
    bytes: int


class Known(CacheFile):
    """Findings as JSON, in an SQLite file."""

    table = "known"
    schema = (
        "CREATE TABLE IF NOT EXISTS known "
        "(key BLOB PRIMARY KEY, finding TEXT NOT NULL, size INTEGER NOT NULL, used REAL NOT NULL)",
    )

    def __init__(self, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(folder, most_bytes)

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the findings that are known."""
        found: dict[bytes, Any] = {}
        old: list[tuple[float, bytes]] = []
        now = time.time()
        with suppress(CacheError, ValueError):
            for key in keys:
                for finding, used in self._run("SELECT finding, used FROM known WHERE key = ?", key):
                    found[key] = json.loads(finding)
                    if now - used > OLD:
                        old.append((now, key))
            if old:
                self._run_many("UPDATE known SET used = ? WHERE key = ?", old)
        return found

    def keep(self, findings: Mapping[bytes, Any]) -> None:
        """Write findings, given as JSON values."""
        if not findings:
            return
        now = time.time()
        rows = [(key, json.dumps(finding, ensure_ascii=False)) for key, finding in findings.items()]
        with suppress(CacheError):
            self._run_many(
                "INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?)",
                [(key, text, len(text.encode("utf-8", "surrogatepass")), now) for key, text in rows],
            )
            self._limit()

    def size(self) -> KnownSize:
        """Return how much the cache holds. Raise CacheError if it cannot be read."""
        return KnownSize(*self._totals())

    def clear(self) -> KnownSize:
        """Empty the cache, even if it cannot be read, and return how much it held.

        Raise CacheError if its file cannot be removed."""
        return KnownSize(*self._remove())


def remembered(
    kind: str, settings: bytes, things: Sequence[tuple[bytes, Thing]], find: Callable[[Thing], Any]
) -> list[Any]:
    """Return what is found in each of some things, as JSON values; what is known is not found again.

    things: each after the bytes that, beside the settings, decide what is found."""
    keys = [key_of(kind, settings, data) for data, _ in things]
    with closing(Known()) as known:
        found = known.find(set(keys))
        new = {}
        for key, (_, thing) in zip(keys, things, strict=True):
            if key not in found:
                new[key] = found[key] = find(thing)
        known.keep(new)
    return [found[key] for key in keys]


def key_of(kind: str, *parts: bytes) -> bytes:
    """Return the hash (20 bytes) under which a finding of some kind is filed. parts: all that it depends on,
    beside the program itself."""
    whole = hashlib.blake2b(_program(), digest_size=20)
    for part in (kind.encode(), *parts):
        whole.update(b"%d:" % len(part) + part)
    return whole.digest()


def digest(settings: Any) -> bytes:
    """Return a hash of settings: a dataclass of plain values, sets, paths and other such dataclasses."""
    written = json.dumps(asdict(settings), default=_plain, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


@cache
def _program() -> bytes:
    """Return what tells this program's code from any other version of it: the sizes and times of its files."""
    folder = Path(__file__).parents[2]
    whole = hashlib.blake2b(sys.version.encode())
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", ".toml", ".json", ".txt")):
                found = os.stat(os.path.join(base, name))  # noqa: PTH116, PTH118 (400 files, at each start)
                whole.update(f"{name}:{found.st_size}:{found.st_mtime_ns};".encode())
    return whole.digest()
