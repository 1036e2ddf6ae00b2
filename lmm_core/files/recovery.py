"""Texts that can be recovered where pandoc tears the file that it writes.

Pandoc empties its output file, and then writes it. Where that file is the document itself
and pandoc is killed in between, or the disk is full, the document is gone or cut off. So
before a filter hands the document to pandoc for its own input, both texts are put into
`.lmm/recover/`: the one that pandoc is about to write, and the one that stands there. The
next command that reads the file compares it with them.

A record is one file: a line of JSON, then both texts. It holds the file's number in the file
system (inode), so that none that comes with a cloned folder counts.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from .marked import FolderError, check_inside, write_own
from .writing import replace_file

FOLDER = (".lmm", "recover")
MAGIC = "lmm-recover 1"
MOST = 10  # records in a folder; the oldest go
WRITING = 120_000_000_000  # nanoseconds that pandoc may take to write; a file that is changed later was edited
_NAME = re.compile(r"\d{6}-[0-9a-f]{8}\.rec")  # other programs' records may be written at the same time


class RecoveryError(Exception):
    """Texts cannot be put aside, so that nothing may be written over them."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one writing: when, in nanoseconds; the text before, and the text that
    was to be written (None where only pandoc knew it)."""

    place: Path
    time: int
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
        is none; an empty one always is."""
        if data == self.before:
            return False
        if not data.strip(b"\0"):
            return bool(self.wanted.strip())
        if self.after is None or changed - self.time > WRITING:
            return False
        found, whole = (text.replace(b"\r\n", b"\n") for text in (data.rstrip(b"\0").rstrip(b"\r"), self.after))
        return whole.startswith(found) and bool(whole[len(found) :].strip())


def put_aside(path: Path, root: Path, after: bytes | None) -> None:
    """Put what stands in a file, and what is about to be written to it, into `.lmm/recover/` of
    a folder above it, down to the disk. Raises RecoveryError."""
    target = Path(os.path.realpath(path))
    try:
        before = target.read_bytes()
        folder = _own_folder(Path(os.path.realpath(root)))
        names = _names(folder)
        number = int(names[-1][:6]) + 1 if names else 1
        replace_file(folder / f"{number:06}-{secrets.token_hex(4)}.rec", _pack(target, before, after))
        for name in names[: -MOST + 1]:
            (folder / name).unlink(missing_ok=True)
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
    return record if record is not None and record.explains(data, path.stat().st_mtime_ns) else None


def torn_problem(path: Path, data: bytes) -> str:
    """Return what is said of a file with this content where it is torn, "" where it is not.
    Raises OSError."""
    record = torn_by(path, data)
    if record is None:
        return ""
    return (
        f"torn: pandoc was ended while it wrote this file, which holds {len(data):,} of {len(record.wanted):,} bytes; "
        f"write the whole text back with: lmm recover {shlex.quote(str(path))} "
        "(or, if you have cut it yourself: lmm recover --keep FILE)"
    )


def forget(record: Record) -> None:
    """Remove a record. Raises OSError."""
    record.place.unlink(missing_ok=True)


# The folder


def _own_folder(root: Path) -> Path:
    """Return the folder of the records, which is made where it is not there. No link leads
    there: one in a cloned folder could lead anywhere. Raises OSError and FolderError."""
    folder = root.joinpath(*FOLDER)
    check_inside(root, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        write_own(folder / ".gitignore", b"*\n")
    return folder


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if _NAME.fullmatch(entry.name))


def _newest(folder: Path, target: Path) -> Record | None:
    for name in reversed(_names(folder)):
        place = folder / name
        if not place.is_symlink() and (found := _unpack(place, target)):
            return found
    return None


# A record as bytes


def _pack(target: Path, before: bytes, after: bytes | None) -> bytes:
    new = after or b""
    head = {
        "magic": MAGIC,
        "path": target.name,
        "inode": target.stat().st_ino,
        "after": None if after is None else len(new),
        "before": len(before),
        "crc": crc32(before, crc32(new)),
    }
    return b"".join((json.dumps(head).encode(), b"\n", new, before))


def _unpack(place: Path, target: Path) -> Record | None:
    """Return a record where it is whole and one of this very file."""
    with place.open("rb") as file:
        try:
            head: Any = json.loads(file.readline(4096))
            if (head["magic"], head["path"], head["inode"]) != (MAGIC, target.name, target.stat().st_ino):
                return None
            after, before = file.read(head["after"] or 0), file.read(head["before"])
            if crc32(before, crc32(after)) != head["crc"]:
                return None
        except (ValueError, TypeError, KeyError):
            return None
        time = os.fstat(file.fileno()).st_mtime_ns
    return Record(place, time, before, None if head["after"] is None else after)
