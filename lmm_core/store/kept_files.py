"""Files with what was made of a collection, beside it: they are removed before the collection changes.

So there is no question whether one is of an earlier state, whatever ended a run. Each begins with a
checksum, since it may be a copy that is not whole.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..files.writing import replace_file, sync_folder

START = "kept-"
MOST = 2  # made under other keys, as by a search that knows the order of chapters and one that does not
SUM = 4  # bytes


def read_kept(folder: Path, key: str) -> bytes | None:
    """Return what was kept under a key, None for nothing whole."""
    try:
        data = (folder / (START + key)).read_bytes()
    except OSError:
        return None
    made = data[SUM:]
    return made if data[:SUM] == _sum(made) else None


def write_kept(folder: Path, key: str, made: bytes) -> None:
    """Keep something under a key, in place of the oldest if there are too many. Raise OSError."""
    own = folder / (START + key)
    others = sorted((one for one in _names(folder) if one != own), key=lambda one: one.stat().st_mtime_ns)
    for path in others[: len(others) - MOST + 1]:
        path.unlink()
    replace_file(own, _sum(made) + made)


def forget_kept(folder: Path) -> None:
    """Remove all that was kept, also by a run that was killed while it wrote. Raise OSError."""
    if names := list(_names(folder)):
        for path in names:
            path.unlink()
        sync_folder(folder)  # so that no power cut brings back what is no longer true


def _names(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        yield from (Path(one.path) for one in entries if one.name.removeprefix(".").startswith(START))


def _sum(made: bytes) -> bytes:
    return zlib.crc32(made).to_bytes(SUM, "big")
