"""What shows that files have changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def stamps_of(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Return the time and the size of each file, (0, 0) for one that is not there."""
    found = {}
    for path in paths:
        try:
            stat = path.stat()
            found[path] = stat.st_mtime_ns, stat.st_size
        except OSError:
            found[path] = 0, 0
    return found
