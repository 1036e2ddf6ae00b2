"""End a process."""

from __future__ import annotations

import atexit
import gc


def end_quickly() -> None:
    """End this process, one of our commands, without a search for reference cycles.

    Python would search all objects twice (0.1 s with the `openai` client). Close everything before."""
    atexit.register(gc.freeze)


def end_as_usual() -> None:
    """End this process normally, because foreign code may have left something open."""
    atexit.unregister(gc.freeze)
