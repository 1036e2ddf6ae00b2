"""Texts that can be recovered where pandoc tears the file that it writes.

Pandoc empties its output file, and then writes it. Where that file is the document itself
and pandoc is killed in between, or the disk is full, the document is gone or cut off. So
before a filter hands the document to pandoc, two texts are put into `.lmm/recover/`: the one
that pandoc is about to write, and the one that stands there. The next command that reads the
file compares it with them.

A record is one file: a line of JSON, then both texts. It counts if it is the user's own and
names the very file (its number in the file system, which no clone can know).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from ..errors import FolderError, RecoveryError
from .marked import check_inside, write_own
from .writing import replace_file

FOLDER = (".lmm", "recover")
MAGIC = "lmm-recover 1"
MOST = 10  # records in a folder; the oldest go
# Nanoseconds after which a file that has changed was edited: pandoc had written it long before,
# unless other filters came after ours.
WRITING = 120_000_000_000
FILTERING = 3_600_000_000_000
_NAME = re.compile(r"\d{20}-[0-9a-f]{8}\.rec")
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one writing: when, and how long pandoc may have taken, in nanoseconds;
    the text before, and the text that was to be written (None where only pandoc knew it)."""

    place: Path
    time: int
    patience: int
    before: bytes
    after: bytes | None

    @property
    def wanted(self) -> bytes:
        """The text that should stand in the file."""
        return self.before if self.after is None else self.after

    def explains(self, data: bytes, changed: int) -> bool:
        """Whether a file that holds `data` and was last changed at `changed` (nanoseconds) is
        what a writing that was broken off leaves: the beginning of the text, then perhaps
        NULs, which some file systems leave after a power cut. One that somebody cut later
        is none."""
        if data == self.before or changed - self.time > self.patience:
            return False
        if not data.strip(b"\0"):
            return bool(self.wanted.strip())
        if self.after is None:
            return False
        found, whole = (text.replace(b"\r\n", b"\n") for text in (data.rstrip(b"\0").rstrip(b"\r"), self.after))
        return whole.startswith(found) and bool(whole[len(found) :].strip())


def put_aside(path: Path, root: Path, after: bytes | None, filtered: bool = False) -> None:
    """Put what stands in a file, and what is about to be written to it, into `.lmm/recover/` of
    a folder above it, down to the disk. filtered: whether other filters work on it before it is
    written. Raises RecoveryError."""
    target = Path(os.path.realpath(path))
    try:
        folder = _own_folder(Path(os.path.realpath(root)))
        name = f"{time.time_ns():020}-{secrets.token_hex(4)}.rec"
        replace_file(folder / name, _pack(target, target.read_bytes(), after, FILTERING if filtered else WRITING))
        for place in _records(folder)[MOST:]:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise RecoveryError(f"{error.filename or path}: {error.strerror}") from error
    except FolderError as error:
        raise RecoveryError(str(error)) from error


def find_record(path: Path) -> Record | None:
    """Return the newest record of a file, None where there is none. Raises OSError."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)  # noqa: PTH120  # asked for each file that is read: as fast as can be
    while True:
        place = os.path.join(folder, *FOLDER)  # noqa: PTH118
        if os.path.isdir(place) and (found := _newest(Path(place), Path(target))):  # noqa: PTH112
            return found
        if (above := os.path.dirname(folder)) == folder:  # noqa: PTH120
            return None
        folder = above


def torn_by(path: Path, data: bytes) -> Record | None:
    """Return the record that tells how a file with this content was torn, None where it is
    whole, or nothing is known of it. Raises OSError."""
    record = find_record(path)
    if record is None or not record.explains(data, path.stat().st_mtime_ns):
        return None
    # git and many editors make a file anew, to which the system may give the number of the old one
    return None if birth_time(path) > record.time else record


def torn_problem(path: Path, data: bytes) -> str:
    """Return what is said of a file with this content where it is torn, "" where it is not.
    Raises OSError."""
    record = torn_by(path, data)
    if record is None:
        return ""
    return (
        f"torn: pandoc was ended while it wrote this file, which holds {len(data):,} of {len(record.wanted):,} bytes; "
        f"write the whole text back with: lmm recover {_as_argument(path)} "
        "(or, if you have cut it yourself: lmm recover --keep FILE)"
    )


def _as_argument(path: Path) -> str:
    """Return a path as it is typed after a command: one that begins with `-` is no option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def forget(record: Record) -> None:
    """Remove a record. Raises OSError."""
    record.place.unlink(missing_ok=True)


# The folder


def _own_folder(root: Path) -> Path:
    """Return the folder of the records, which is made where it is not there. No link leads
    there: one in a cloned folder could lead anywhere. Raises OSError and FolderError."""
    folder = root.joinpath(*FOLDER)
    check_inside(root, folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # the texts may be private
    if not (folder / ".gitignore").exists():
        write_own(folder / ".gitignore", b"*\n")
    return folder


def _records(folder: Path) -> list[Path]:
    """Return the user's own records in a folder, the newest first. What else lies there may have
    come with a cloned folder, or from another user."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                about = entry.stat(follow_symlinks=False)
                if os.name != "posix" or about.st_uid == os.geteuid():
                    found.append((about.st_mtime_ns, entry.name))
    return [folder / name for _, name in sorted(found, reverse=True)]


def _newest(folder: Path, target: Path) -> Record | None:
    return next((found for place in _records(folder)[: 2 * MOST] if (found := _unpack(place, target))), None)


# A record as bytes


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
    """Return a record where it is whole and one of this very file."""
    with os.fdopen(os.open(place, _FLAGS), "rb") as file:
        try:
            head: Any = json.loads(file.readline(4096))
            if (head["magic"], head["path"], head["inode"]) != (MAGIC, target.name, target.stat().st_ino):
                return None
            after, before = file.read(head["after"] or 0), file.read(head["before"])
            if crc32(before, crc32(after)) != head["crc"]:
                return None
            made, patience = os.fstat(file.fileno()).st_mtime_ns, int(head["patience"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
    return Record(place, made, patience, before, None if head["after"] is None else after)


# When a file was made


def birth_time(path: Path) -> int:
    """Return when a file was made, in nanoseconds; 0 where the system does not say. (Linux says
    it by statx, which Python does not know before 3.15.)"""
    about = path.stat()
    if sys.platform == "win32":
        return about.st_ctime_ns
    if born := getattr(about, "st_birthtime", 0):
        return int(born * 1e9)
    return _birth_time_on_linux(path) if sys.platform == "linux" else 0


def _birth_time_on_linux(path: Path) -> int:
    import ctypes

    statx = getattr(ctypes.CDLL(None), "statx", None)
    buffer = ctypes.create_string_buffer(256)
    has_birth, here = 0x800, -100  # STATX_BTIME, AT_FDCWD
    if statx is None or statx(here, os.fsencode(path), 0, has_birth, buffer) != 0:
        return 0
    mask, seconds, nanoseconds = struct.unpack_from("=I76xqI", buffer)  # stx_mask, stx_btime at byte 80
    return seconds * 1_000_000_000 + nanoseconds if mask & has_birth else 0
