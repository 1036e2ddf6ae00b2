"""Closed collections without the holes that the engine leaves at the end of its files.

The engine makes its files as long as they may become: 32 MB and more of which a few kilobytes
are data. The rest is a hole, which takes no room on most disks, but is copied, packed and
downloaded in full. So it is cut off while a collection is closed, and put back before it is opened.

`lengths.json` in the collection's folder holds both lengths of each file that was cut:
{"shard/…": [length as it is, length before]}. It is on the disk before the first file is cut, and
goes by the length: a file that has another one was not cut, or was written since.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from ...files.marked import all_below
from ...files.writing import write_file

RECORD = "lengths.json"
HOLE = 65_536  # bytes; a shorter one stays
LONGEST = 1 << 40  # bytes of a file that is put back; no file of the engine is that long
PART = 1 << 20  # bytes read at once where the system tells nothing of holes

Lengths = dict[str, tuple[int, int]]


def cut_holes(collection: Path) -> None:
    """Cut the holes off the ends of a closed collection's files.

    Raise OSError; each file is whole or recorded then."""
    recorded = _read_lengths(collection)
    cut = {name: pair for name, pair in recorded.items() if _size(collection / name) == pair[0]}
    holes = _find_holes(collection)
    if (lengths := cut | holes) != recorded:
        write_file(collection / RECORD, json.dumps(lengths, indent=0).encode())
    for name, (short, _) in holes.items():
        _set_length(collection / name, short)


def put_back_holes(collection: Path) -> None:
    """Give the files of a collection the lengths that the engine expects. Raise OSError."""
    for name, (short, long) in _read_lengths(collection).items():
        if _size(collection / name) == short:
            _set_length(collection / name, long)


def _read_lengths(collection: Path) -> Lengths:
    """Return what is recorded; {} if that is nothing, or damaged."""
    try:
        recorded = json.loads((collection / RECORD).read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(recorded, dict):
        return {}
    return {name: (pair[0], pair[1]) for name, pair in recorded.items() if _is_possible(collection, name, pair)}


def _is_possible(collection: Path, name: str, pair: Any) -> bool:
    """Return True if an entry can be one of ours: the record may come from a stranger's repository."""
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
    """Return the lengths of data and file for each file that ends with a hole."""
    entries = (entry for entry in all_below(collection / "shard") if entry.is_file())
    files = {Path(entry.path): size for entry in entries if (size := entry.stat().st_size) >= HOLE}
    ends = {path: (_end_of_data(path, size), size) for path, size in sorted(files.items())}
    return {path.relative_to(collection).as_posix(): pair for path, pair in ends.items() if pair[1] - pair[0] >= HOLE}


def _end_of_data(path: Path, size: int) -> int:
    """Return the length of a file without the zeros at its end, of which a part of a block may stay."""
    with path.open("rb") as file:
        if sys.platform != "win32" and hasattr(os, "SEEK_HOLE"):
            with suppress(OSError):
                return _end_by_holes(file.fileno(), size)
        return _end_by_reading(file, size)


if sys.platform != "win32":

    def _end_by_holes(file: int, size: int) -> int:
        """Return where the last data ends, as the file system tells it."""
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
    """Return where the last byte that is not zero ends."""
    end = size
    while end > 0:
        start = max(0, end - PART)
        file.seek(start)
        if data := file.read(end - start).rstrip(b"\0"):
            return start + len(data)
        end = start
    return 0


def _set_length(path: Path, length: int) -> None:
    """Cut or lengthen a file; the time of its last change stays, by which others know when data was written."""
    status = path.stat()
    os.truncate(path, length)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
