"""The user's own folders, outside of all projects."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Return the user's cache folder for this program.

    XDG_CACHE_HOME counts on every system; otherwise the system's usual place."""
    if base := os.environ.get("XDG_CACHE_HOME", ""):
        return Path(base, "lmm")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "lmm"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lmm" / "Cache"
    return Path.home() / ".cache" / "lmm"
