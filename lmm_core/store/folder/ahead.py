"""Write ahead records that must survive a power cut.

The engine's log survives the end of the process, but a power cut may lose some writes and keep later ones. So before
related changes, points that announce them are appended and synced to our file in the collection's folder, each time as
one line of JSON, `[[id, payload], …]`. Opening a collection replays this file over later writes; it is removed once
everything is synced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import StoreError
from ...files.writing import sync_folder
from ..points import checked_id
from ..vector_store import Point

AHEAD = "ahead.jsonl"
_ADD = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


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


def forget_points(collection: Path) -> None:
    """Remove the log, after a sync. Raise OSError."""
    (collection / AHEAD).unlink(missing_ok=True)
