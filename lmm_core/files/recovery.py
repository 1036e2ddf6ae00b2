"""Recovery of files torn by pandoc.

Pandoc truncates its output before writing; if that is the document, a kill or full disk would destroy it. So a filter
first copies both texts to `.lmm/recover/`, and the next command compares them.

A record is valid only for its owner and this very file (by inode).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ..errors import FolderError, RecoveryError
from .marked import check_inside, hide_from_git
from .writing import replace_file

FOLDER = (".lmm", "recover")
MAGIC = "lmm-recover 1"
MOST = 10  # records per folder
# Nanoseconds until pandoc's write, also with other filters; later changes are the writer's
WRITING = 120_000_000_000
FILTERING = 3_600_000_000_000
_NAME = re.compile(r"\d{20}-[0-9a-f]{8}\.rec")
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Record(NamedTuple):
    """A recorded write.

    time, patience: start and maximum delay in nanoseconds
    before, after: texts; None if unknown
    """

    place: Path
    time: int
    patience: int
    before: bytes
    after: bytes | None

    @property
    def text(self) -> bytes:
        """Return the text to restore."""
        return self.before if self.after is None else self.after

    def explains(self, data: bytes, changed: int) -> bool:
        """Return True if an interrupted write would leave `data`: a prefix, perhaps padded with NULs.

        changed: mtime in nanoseconds
        """
        if data == self.before or changed - self.time > self.patience:
            return False
        if not data.strip(b"\0"):
            return bool(self.text.strip())
        if self.after is None:
            return False
        remains, complete = (text.replace(b"\r\n", b"\n") for text in (data.rstrip(b"\0").rstrip(b"\r"), self.after))
        return complete.startswith(remains) and bool(complete[len(remains) :].strip())


def put_aside(path: Path, root: Path, after: bytes | None, filtered: bool = False) -> None:
    """Copy a file's texts to `.lmm/recover/`, synced. Raise RecoveryError.

    filtered: other filters run first
    """
    target = Path(os.path.realpath(path))
    try:
        folder = _own_folder(Path(os.path.realpath(root)))
        name = f"{time.time_ns():020}-{os.urandom(4).hex()}.rec"
        replace_file(folder / name, _pack(target, target.read_bytes(), after, FILTERING if filtered else WRITING))
        for place in _records(folder)[MOST:]:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise RecoveryError(f"{error.filename or path}: {error.strerror}") from error
    except FolderError as error:
        raise RecoveryError(str(error)) from error


def find_record(path: Path) -> Record | None:
    """Return the newest record of a file, or None. Raise OSError."""
    target = Path(os.path.realpath(path))
    for folder in map(str, target.parents):
        records = os.path.join(folder, *FOLDER)  # noqa: PTH118 (called for every file; `Path` takes three times as long)
        if os.path.isdir(records) and (record := _newest(Path(records), target)):  # noqa: PTH112
            return record
    return None


def torn_by(path: Path, data: bytes) -> Record | None:
    """Return the record that explains a torn file, or None. Raise OSError."""
    record = find_record(path)
    return record if record is not None and record.explains(data, path.stat().st_mtime_ns) else None


def torn_problem(path: Path, data: bytes) -> str:
    """Return the message for a torn file, or "". Raise OSError."""
    record = torn_by(path, data)
    if record is None:
        return ""
    return (
        f"torn: pandoc was ended while it wrote this file, which holds {len(data):,} of {len(record.text):,} bytes; "
        f"write the whole text back with: lmm recover {_as_argument(path)} "
        "(or, if you cut it yourself: lmm recover --keep FILE)"
    )


def _as_argument(path: Path) -> str:
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def forget(record: Record) -> None:
    """Remove a record. Raise OSError."""
    record.place.unlink(missing_ok=True)


def _own_folder(root: Path) -> Path:
    folder = root.joinpath(*FOLDER)
    check_inside(root, folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the texts may be private
    hide_from_git(folder)
    return folder


def _records(folder: Path) -> list[Path]:
    records = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if sys.platform == "win32" or status.st_uid == os.geteuid():
                    records.append((status.st_mtime_ns, entry.name))
    return [folder / name for _, name in sorted(records, reverse=True)]


def _newest(folder: Path, target: Path) -> Record | None:
    return next((record for place in _records(folder)[: 2 * MOST] if (record := _unpack(place, target))), None)


def _pack(target: Path, before: bytes, after: bytes | None, patience: int) -> bytes:
    new = after or b""
    head = {
        "magic": MAGIC,
        "path": target.name,
        "inode": target.stat().st_ino,
        "patience": patience,
        "after": None if after is None else len(new),
        "before": len(before),
        "crc": crc32(before, crc32(new)),
    }
    return b"".join((json.dumps(head).encode(), b"\n", new, before))


def _unpack(place: Path, target: Path) -> Record | None:
    """Return an intact record of this very file, else None."""
    with os.fdopen(os.open(place, _FLAGS), "rb") as file:
        try:
            head: Any = json.loads(file.readline(4096))
            if (head["magic"], head["path"], head["inode"]) != (MAGIC, target.name, target.stat().st_ino):
                return None
            after, before = file.read(head["after"] or 0), file.read(head["before"])
            if crc32(before, crc32(after)) != head["crc"]:
                return None
            time, patience = os.fstat(file.fileno()).st_mtime_ns, int(head["patience"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
    return Record(place, time, patience, before, None if head["after"] is None else after)
