"""Cut the holes off the engine's files while a collection is closed.

The engine preallocates 32 MB and more for a few kilobytes of data. The hole takes no space on most disks, but is
copied, packed and downloaded in full. It is restored before a collection is opened.

`lengths.json` in the collection's folder holds both lengths of each cut file, {"shard/…": [length as it is, length
before]}, and is synced before the first cut. A file of another length was not cut, or was written since.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from ..files.marked import all_below
from ..files.writing import write_file

RECORD = "lengths.json"
HOLE = 65_536  # bytes; shorter ones stay
LONGEST = 1 << 40  # bytes of a restored file; more than the engine ever allocates
PART = 1 << 20  # bytes per read where the system does not report holes

Lengths = dict[str, tuple[int, int]]  # by file: without its hole, and whole


def cut_holes(collection: Path) -> None:
    """Cut the holes off a closed collection's files. Raise OSError, with each file whole or recorded."""
    recorded = _read_lengths(collection)
    cut = {name: pair for name, pair in recorded.items() if _size(collection / name) == pair[0]}
    holes = _find_holes(collection)
    if (lengths := cut | holes) != recorded:
        write_file(collection / RECORD, json.dumps(lengths, indent=0).encode())
    for name, (short, _) in holes.items():
        _set_length(collection / name, short)


def put_back_holes(collection: Path) -> None:
    """Restore the file lengths that the engine expects. Raise OSError."""
    for name, (short, long) in _read_lengths(collection).items():
        if _size(collection / name) == short:
            _set_length(collection / name, long)


def _read_lengths(collection: Path) -> Lengths:
    try:
        recorded = json.loads((collection / RECORD).read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(recorded, dict):
        return {}
    return {name: (pair[0], pair[1]) for name, pair in recorded.items() if _is_possible(name, pair)}


def _is_possible(name: str, pair: Any) -> bool:
    """Return True if an entry may be ours: the record may come from a stranger's repository."""
    return (
        name.startswith("shard/")
        and ".." not in Path(name).parts
        and isinstance(pair, list)
        and [type(length) for length in pair] == [int, int]
        and 0 <= pair[0] <= pair[1] <= LONGEST
    )


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None


def _find_holes(collection: Path) -> Lengths:
    entries = (entry for entry in all_below(collection / "shard") if entry.is_file())
    files = {Path(entry.path): size for entry in entries if (size := entry.stat().st_size) >= HOLE}
    ends = {path: (_end_of_data(path, size), size) for path, size in sorted(files.items())}
    return {path.relative_to(collection).as_posix(): pair for path, pair in ends.items() if pair[1] - pair[0] >= HOLE}


def _end_of_data(path: Path, size: int) -> int:
    """Return a file's length without trailing zeros, rounded up to a block at most."""
    with path.open("rb") as file:
        if sys.platform != "win32" and hasattr(os, "SEEK_HOLE"):
            with suppress(OSError):
                return _end_by_holes(file.fileno(), size)
        return _end_by_reading(file, size)


if sys.platform != "win32":

    def _end_by_holes(file: int, size: int) -> int:
        end = 0
        while end < size:
            try:
                end = os.lseek(file, os.lseek(file, end, os.SEEK_DATA), os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:  # no data from here on
                    return end
                raise
        return size


def _end_by_reading(file: BinaryIO, size: int) -> int:
    end = size
    while end > 0:
        start = max(0, end - PART)
        file.seek(start)
        if data := file.read(end - start).rstrip(b"\0"):
            return start + len(data)
        end = start
    return 0


def _set_length(path: Path, length: int) -> None:
    status = path.stat()
    os.truncate(path, length)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
