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
from pathlib import Path
from types import TracebackType

from .cache import Known
from .keys import HASH, key_of

# Windows has no time of the last change of anything, without which a text of the same size can be put in a file's place
HAS_CHANGE_TIMES = sys.platform != "win32"
RESTED = 2_000_000_000  # nanoseconds; file systems note times in steps of up to two seconds
Stamp = list[int]  # size, times of the last change of content and of anything, number on the disk


class FileDigests:
    """The digests of a site's pages. place: tells the site from others; known: is left open."""

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
        if kind is None and self._after != self._before:
            self._known.keep({self._key: self._after})
        if self._is_own:
            self._known.close()

    def of(self, path: Path) -> bytes:
        """Return the digest of a file's content. Raise OSError if the file cannot be read."""
        name = os.fsdecode(path)
        known = self._before.get(name)
        if known is None or known[0] != _stamp(path.stat()):
            return self._read(path, name)
        self._after[name] = known
        return bytes.fromhex(str(known[1]))

    def _read(self, path: Path, name: str) -> bytes:
        now, stamp = time.time_ns(), _stamp(path.stat())  # before it is read: a change meanwhile makes another stamp
        found = digest_of(path.read_bytes())
        if max(stamp[1:3]) < now - RESTED:
            self._after[name] = [stamp, found.hex()]
        return found


def digest_of(data: bytes) -> bytes:
    """Return the digest of a file's content."""
    import hashlib  # loads OpenSSL

    return hashlib.sha256(data).digest()[:HASH]


def _stamp(found: os.stat_result) -> Stamp:
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
