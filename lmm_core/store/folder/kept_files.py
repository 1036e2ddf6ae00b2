"""Files with what was made of a collection, beside it, and the ids of the points that have changed since.

The ids are on the disk before their points change, so that there is no question of which state a file is, whatever
ended a run. Without the list of ids, no file counts. A file begins with a checksum, since it may be a copy that is
not whole, and with the length that the list had when it was written.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from ...errors import StoreError
from ...files.writing import replace_file, sync_folder
from ..points import checked_id

START = "kept-"
CHANGES = START + "changes"
MOST = 2  # files under other keys, as of a search that knows the order of chapters and one that does not
SUM, LENGTH = 4, 8  # bytes
LINE = 37  # bytes of an id in the list
MOST_CHANGES = 4_000  # ids; if more points have changed, nothing is kept


def read_kept(folder: Path, key: str) -> tuple[bytes, list[str]] | None:
    """Return what was kept under a key, with the ids of the points that have changed since; None for nothing whole."""
    try:
        with (folder / (START + key)).open("rb") as file:
            total, length, made = file.read(SUM), file.read(LENGTH), file.read()
        changes = _read_changes(folder)
    except OSError:
        return None
    before = int.from_bytes(length, "big")
    if total != _sum(length, made) or before > len(changes) or len(changes) % LINE:
        return None
    try:
        return made, list(dict.fromkeys(map(checked_id, changes[before:].decode("ascii", "replace").splitlines())))
    except StoreError:  # a power cut may leave a file as long as it was, and empty
        return None


def write_kept(folder: Path, key: str, made: bytes) -> None:
    """Keep something under a key, in place of the oldest if there are too many. Raise OSError."""
    if not (folder / CHANGES).exists():
        forget_kept(folder)
    own = folder / (START + key)
    others = sorted((one for one in _kept(folder) if one != own), key=lambda one: one.stat().st_mtime_ns)
    while len(others) >= MOST:
        others.pop(0).unlink()
    length = (len(_read_changes(folder)) if others else 0).to_bytes(LENGTH, "big")
    replace_file(own, b"".join([_sum(length, made), length, made]))
    if not others:
        (folder / CHANGES).write_bytes(b"")  # if that is lost, more counts as changed, or all


def note_changes(folder: Path, ids: Sequence[str]) -> None:
    """Note that points are about to change, if anything is kept. Raise OSError."""
    if not _kept(folder):
        return
    try:
        _append(folder / CHANGES, ids)
    except OSError:
        forget_kept(folder)


def _append(changes: Path, ids: Sequence[str]) -> None:
    with changes.open("r+b") as file:  # which makes no new one
        size = file.seek(0, os.SEEK_END)
        if size % LINE or size // LINE + len(ids) > MOST_CHANGES:
            raise OSError("too many changes, or a line that is not whole")
        file.write("".join(f"{ident}\n" for ident in ids).encode())
        file.flush()
        os.fsync(file.fileno())


def forget_kept(folder: Path) -> None:
    """Remove all that was kept, also by a run that was killed while it wrote. Raise OSError."""
    for path in (folder / CHANGES, *_kept(folder)):
        path.unlink(missing_ok=True)
    sync_folder(folder)  # so that no power cut brings them back


def _kept(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [one.name for one in entries if one.name.removeprefix(".").startswith(START)]
    return [folder / name for name in names if name != CHANGES]


def _read_changes(folder: Path) -> bytes:
    return (folder / CHANGES).read_bytes()


def _sum(length: bytes, made: bytes) -> bytes:
    return zlib.crc32(made, zlib.crc32(length)).to_bytes(SUM, "big")
