"""A record in the user's cache of what this program made, since projects can be forged.

Digests by kind ("outputs", …) and real path.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .user import cache_folder
from .writing import replace_file


def remember(kind: str, place: Path, *data: bytes) -> None:
    """Record the content of a place, if possible."""
    record = _record(kind, place)
    with suppress(OSError):
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(record, _digest(data))


def is_known(kind: str, place: Path) -> bool:
    """Return True if there is a record of a place."""
    return _record(kind, place).is_file()


def is_remembered(kind: str, place: Path, *data: bytes) -> bool:
    """Return True if a place is recorded with this content."""
    try:
        return _record(kind, place).read_bytes() == _digest(data)
    except OSError:
        return False


def forget(kind: str, place: Path) -> None:
    """Remove a record."""
    with suppress(OSError):
        _record(kind, place).unlink(missing_ok=True)


def _record(kind: str, place: Path) -> Path:
    import hashlib

    name = hashlib.blake2b(os.fsencode(os.path.realpath(place)), digest_size=16).hexdigest()
    return cache_folder() / kind / name


def _digest(data: tuple[bytes, ...]) -> bytes:
    """Return a digest of all parts with their lengths."""
    import hashlib

    digest = hashlib.blake2b(digest_size=20)
    for part in data:
        digest.update(b"%d:" % len(part) + part)
    return digest.hexdigest().encode()
