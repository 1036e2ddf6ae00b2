"""Check disk space: the engine's memory maps make a full disk fatal."""

from __future__ import annotations

from pathlib import Path

from ...errors import StoreError
from ...files.marked import all_below

SPARE = 64 * 1024 * 1024  # bytes that stay free


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
