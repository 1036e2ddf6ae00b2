"""The user's own folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the cache folder, by XDG_CACHE_HOME on every system, else the usual place.

    Without a home, it cannot be created.
    """
    if base := os.environ.get("XDG_CACHE_HOME", ""):
        return Path(base, "lmm")
    try:
        return _usual_cache_folder()
    except RuntimeError:  # no home, as for an unknown uid in a container
        return Path(os.devnull, "lmm")


def _usual_cache_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lmm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lmm" / "Cache"
    return Path.home() / ".cache" / "lmm"
