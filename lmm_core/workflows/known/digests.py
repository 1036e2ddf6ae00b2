"""The digests of files, kept from one run to the next, so that a file which has not changed is not read again.

As for git, a file has not changed if its size, its times and its number on the disk are those with which it was read,
provided that it had rested by then: what changed in the same moment may change once more without a trace of it
(https://git-scm.com/docs/racy-git). As for git, too, what a program writes through a mapping that it holds all the
while leaves no trace, nor does anything on file systems that make their times up: so not for what decides whether
something is published.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import NamedTuple

from .cache import Known
from .keys import HASH, key_of

# Windows has no time of the last change of anything, without which a text of the same size can be put in a file's place
HAS_CHANGE_TIMES = sys.platform != "win32"
RESTED = 2_000_000_000  # nanoseconds; file systems note times in steps of up to two seconds
Stamp = list[int]  # size, times of the last change of content and of anything, number on the disk


class Content(NamedTuple):
    """The content of a file: its digest, and its size in bytes."""

    digest: bytes
    size: int


class FileDigests:
    """The digests of files, by their paths. place: tells these files from others; known: is left open."""

    def __init__(self, place: bytes, known: Known | None = None) -> None:
        self._is_own = known is None
        self._known = (known or Known()) if HAS_CHANGE_TIMES else None
        self._key = key_of("digests", place)
        self._before: dict[str, list[object]] = {}  # by the file's path, its stamp and its digest in hexadecimal
        self._after: dict[str, list[object]] = {}

    def __enter__(self) -> FileDigests:
        if self._known is not None:
            self._before = self._known.find([self._key]).get(self._key, {})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._known is None:
            return
        if kind is None and (now := self._all_now()) != self._before:
            self._known.keep({self._key: now})
        if self._is_own:
            self._known.close()

    def _all_now(self) -> dict[str, list[object]]:
        """Return what is known now, also of files that are there and that this run was not asked about."""
        others = {name: one for name, one in self._before.items() if name not in self._after and os.path.lexists(name)}
        return others | self._after

    def of(self, path: Path) -> bytes:
        """Return the digest of a file's content. Raise OSError if the file cannot be read."""
        found = self.look(path, Path.read_bytes)
        assert found is not None
        return found.digest

    def look(self, path: Path, read: Callable[[Path], bytes | None]) -> Content | None:
        """Return what the content of a file is. read: returns it where it is not known; if that is None, so is this."""
        name, now, stamp = os.fsdecode(path), time.time_ns(), _stamp(path)  # before: a change meanwhile makes another
        known = self._before.get(name)
        if known is not None and known[0] == stamp:
            self._after[name] = known
            return Content(bytes.fromhex(str(known[1])), stamp[0])
        if (data := read(path)) is None:
            return None
        found = Content(digest_of(data), len(data))
        if stamp and max(stamp[1:3]) < now - RESTED:
            self._after[name] = [stamp, found.digest.hex()]
        return found


def digest_of(data: bytes) -> bytes:
    """Return the digest of a file's content."""
    import hashlib  # loads OpenSSL

    return hashlib.sha256(data).digest()[:HASH]


def _stamp(path: Path) -> Stamp:
    """Return the stamp of a file, [] for what is none or not there, which no stamp is equal to."""
    try:
        found = path.stat()
    except OSError:
        return []
    stamp = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
    return stamp if S_ISREG(found.st_mode) else []  # what a pipe holds has no time
