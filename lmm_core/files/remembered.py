"""What this program has made for this user, remembered outside of all projects: a project's
folder may be somebody else's, and whatever lies in it may be forged.

A record is a digest of what was made, under a kind ("outputs", …) and a place. It is made and
asked for by the place's real path, so that what is moved, or comes along with a clone, is not
known. Where the user's cache is cleared, nothing is known any more."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from .user import cache_folder
from .writing import replace_file


def remember(kind: str, place: Path, *data: bytes) -> None:
    """Remember what was made in a place. Where that cannot be done, it is not known later."""
    record = _record(kind, place)
    with suppress(OSError):
        record.parent.mkdir(parents=True, exist_ok=True)
        replace_file(record, _digest(data))


def is_known(kind: str, place: Path) -> bool:
    """Return whether anything is remembered of a place."""
    return _record(kind, place).is_file()


def is_remembered(kind: str, place: Path, *data: bytes) -> bool:
    """Return whether a place holds, with this content, what was remembered of it."""
    try:
        return _record(kind, place).read_bytes() == _digest(data)
    except OSError:
        return False


def forget(kind: str, place: Path) -> None:
    """Remember nothing of a place any more."""
    with suppress(OSError):
        _record(kind, place).unlink(missing_ok=True)


def _record(kind: str, place: Path) -> Path:
    name = hashlib.blake2b(os.fsencode(os.path.realpath(place)), digest_size=16).hexdigest()
    return cache_folder() / kind / name


def _digest(data: tuple[bytes, ...]) -> bytes:
    """A digest of all parts, each with its length, so that none passes into the next."""
    whole = hashlib.blake2b(digest_size=20)
    for part in data:
        whole.update(b"%d:" % len(part) + part)
    return whole.hexdigest().encode()
