"""Our files in a folder of collections: each collection's record and write-ahead log, and free disk space."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files.marked import all_below, check_removable, remove_marked
from ..files.writing import sync_folder
from ..markdown.files import write_markdown
from .points import checked_id
from .vector_store import Point

COLLECTION = "collection"  # folder kind
RECORD = "collection.json"  # a collection exists with this file
FORMAT = 1
AHEAD = "ahead.jsonl"
_ADD = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
SPARE = 64 * 1024 * 1024  # bytes of the disk that stay free


def save_record(folder: Path, values: dict[str, Any]) -> None:
    """Write a collection's record. Raise OSError."""
    write_markdown(folder / RECORD, json.dumps({"format": FORMAT, **values}, ensure_ascii=False))


def load_record(folder: Path) -> dict[str, Any] | None:
    """Return a collection's record, or None if it does not exist. Raise StoreError."""
    path = folder / RECORD
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{path} cannot be read ({error}). Remove {folder} and index again.") from error
    if isinstance(record, dict) and record.get("format") == FORMAT and {"spec", "metadata"} <= set(record):
        return record
    raise StoreError(f"{path} was written by another version of this program. Remove {folder} and index again.")


def remove_collection(folder: Path) -> None:
    """Remove a collection, its record first: an interruption leaves no partial one. Raise FolderError, OSError."""
    check_removable(folder, COLLECTION)
    (folder / RECORD).unlink()
    sync_folder(folder)
    remove_marked(folder, COLLECTION)


# Write-ahead log: a power cut may lose some of the engine's writes and keep later ones. So points that announce changes
# are first appended and synced to our file, each time as one line of JSON, `[[id, payload], …]`. Opening a collection
# replays this file over later writes; it is removed once everything is synced.


def note_points(collection: Path, points: Sequence[Point]) -> None:
    """Append points, without vectors, and sync. Raise OSError."""
    line = json.dumps([[point.id, point.payload] for point in points])
    with os.fdopen(os.open(collection / AHEAD, _ADD, 0o666), "ab") as file:
        file.write(f"\n{line}\n".encode())  # ends a line torn by a power cut
        file.flush()
        os.fsync(file.fileno())
    sync_folder(collection)


def noted_points(collection: Path) -> list[Point]:
    """Return the latest version of each point in the log. Raise OSError.

    Lines torn by a power cut are skipped: their changes had not begun."""
    try:
        lines = (collection / AHEAD).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    latest = {point.id: point for line in lines for point in _points(line)}
    return list(latest.values())


def _points(line: bytes) -> list[Point]:
    try:
        noted: Any = json.loads(line)
        return [Point(checked_id(ident), {}, payload) for ident, payload in noted]
    except (ValueError, TypeError, RecursionError, StoreError):
        return []


# Disk space: the engine's memory maps make a full disk fatal


def check_room(folder: Path, size: int) -> None:
    """Raise StoreError if the disk is nearly full for points of a total size, OSError without the folder.

    Points take about three times their size: stored, logged, and copied when segments are rebuilt."""
    free = _free_space(folder)
    if free < SPARE + 3 * size:
        raise StoreError(
            f"Only {free / 1e6:,.0f} MB are free on the disk of {folder}. Make room and run this again; "
            "what is stored so far is kept."
        )


def has_room_to_copy(folder: Path) -> bool:
    """Return True if there is space to copy a folder."""
    size = sum(entry.stat().st_size for entry in all_below(folder) if entry.is_file())
    return _free_space(folder) > SPARE + 2 * size


def _free_space(folder: Path) -> int:
    import shutil  # slow import: loads archivers; a search needs none of it

    return shutil.disk_usage(folder).free
