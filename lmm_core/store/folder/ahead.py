"""What is to hold of a collection whose store is not closed in the end.

The engine's log survives the end of the process, but the disk takes it in its own time: a power cut
may take some of what was written, in this collection or in others, and leave what came after it. So
whoever changes things that belong together writes points first that tell what is about to change.
They are in a file of ours in the collection's folder, on the disk before the change begins: one line
of JSON each time, `[[id, payload], …]`. When a collection is opened that has such a file, they are
written again, over whatever came after them; the file is removed when all is on the disk.
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
    """Note points, which have no vectors, and wait until the disk has them. Raise OSError."""
    line = json.dumps([[point.id, point.payload] for point in points])
    with os.fdopen(os.open(collection / AHEAD, _ADD, 0o666), "ab") as file:
        file.write(f"\n{line}\n".encode())  # a line that a power cut tore ends here
        file.flush()
        os.fsync(file.fileno())
    sync_folder(collection)


def noted_points(collection: Path) -> list[Point]:
    """Return the points that are noted, each as it was noted last. Raise OSError.

    A line that a power cut tore says nothing: what it would tell of had not begun."""
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
    """Forget the points that are noted, since all is on the disk. Raise OSError."""
    (collection / AHEAD).unlink(missing_ok=True)
