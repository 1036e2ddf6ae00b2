"""The end of a process."""

from __future__ import annotations

import atexit
import gc


def end_quickly() -> None:
    """Let this process, one of our commands, end without a search for objects that refer to each other.

    Python looks through all objects twice before it ends, which takes as long as much of the work (0.1 s with the
    `openai` client). What has to be closed is closed before, and the system takes the memory back."""
    atexit.register(gc.freeze)


def end_as_usual() -> None:
    """Let this process end as others do, because code that is not ours may have left something open."""
    atexit.unregister(gc.freeze)
