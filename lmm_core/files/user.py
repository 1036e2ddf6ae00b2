"""The user's own folders, outside of all projects."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's cache folder for this program: in XDG_CACHE_HOME on every system, else the usual place.

    Without a home, it is a folder that cannot be made."""
    if base := os.environ.get("XDG_CACHE_HOME", ""):
        return Path(base, "lmm")
    try:
        return _usual_cache_folder()
    except RuntimeError:  # there is no home, as for a number in a container that is no user
        return Path(os.devnull, "lmm")


def _usual_cache_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lmm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lmm" / "Cache"
    return Path.home() / ".cache" / "lmm"
