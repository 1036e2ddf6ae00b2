"""The end of a process."""

from __future__ import annotations

import atexit
import gc


def end_quickly() -> None:
    """Let this process, one of our commands, end without a search for reference cycles.

    Python searches all objects twice before it ends (0.1 s with the `openai` client). Whatever has to be closed is
    closed before."""
    atexit.register(gc.freeze)


def end_as_usual() -> None:
    """Let this process end normally, because foreign code may have left something open."""
    atexit.unregister(gc.freeze)
