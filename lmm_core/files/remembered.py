"""A memory, outside of all projects, of what this program made for this user.

A project's folder may be somebody else's, and anything in it may be forged. A record is a
digest of what was made, filed under a kind ("outputs", …) and the real path of the place, so
that something moved or cloned is unknown. What was made is kept with it if it is asked for again.
Clearing the user's cache forgets everything.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from .user import cache_folder
from .writing import replace_file


def remember(kind: str, place: Path, *data: bytes) -> None:
    """Remember what was made in a place. If that fails, the place is simply unknown later."""
    _write(_record(kind, place), _digest(data))


def is_known(kind: str, place: Path) -> bool:
    """Return True if anything is remembered about a place."""
    return _record(kind, place).is_file()


def is_remembered(kind: str, place: Path, *data: bytes) -> bool:
    """Return True if a place is remembered with exactly this content."""
    try:
        return _record(kind, place).read_bytes() == _digest(data)
    except OSError:
        return False


def forget(kind: str, place: Path) -> None:
    """Forget a place."""
    with suppress(OSError):
        _record(kind, place).unlink(missing_ok=True)


def keep(kind: str, place: Path, made: bytes, *data: bytes) -> None:
    """Keep what was made in a place from some data, for `recall`. If that fails, it is made again."""
    _write(_record(kind, place), _digest((*data, made)) + b"\n" + made)


def recall(kind: str, place: Path, *data: bytes) -> bytes | None:
    """Return what was kept of a place if it was made from exactly these data, and is whole."""
    try:
        digest, _, made = _record(kind, place).read_bytes().partition(b"\n")
    except OSError:
        return None
    return made if digest == _digest((*data, made)) else None


@cache
def program_mark() -> bytes:
    """Return what tells this program's code from any other version of it."""
    return code_mark(Path(__file__).parents[1])


def code_mark(folder: Path) -> bytes:
    """Return what tells a package's code from any other version of it: the sizes and times of its folder's files."""
    import hashlib  # loads OpenSSL

    whole = hashlib.blake2b(sys.version.encode())
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".py", ".toml", ".json", ".txt")):
                found = os.stat(os.path.join(base, name))  # noqa: PTH116, PTH118 (400 files, at each start)
                whole.update(f"{name}:{found.st_size}:{found.st_mtime_ns};".encode())
    return whole.digest()


def _write(record: Path, content: bytes) -> None:
    with suppress(OSError):
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(record, content)


def _record(kind: str, place: Path) -> Path:
    import hashlib

    name = hashlib.blake2b(os.fsencode(os.path.realpath(place)), digest_size=16).hexdigest()
    return cache_folder() / kind / name


def _digest(data: tuple[bytes, ...]) -> bytes:
    """Return a digest of all parts, each with its length, so that parts cannot be confused."""
    import hashlib

    whole = hashlib.blake2b(digest_size=20)
    for part in data:
        whole.update(b"%d:" % len(part) + part)
    return whole.hexdigest().encode()
