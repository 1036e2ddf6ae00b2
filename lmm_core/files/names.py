"""Portable names of folders, and the cache folder of the user."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

_PORTS = (f"{port}{number}" for port in ("com", "lpt") for number in range(10))
DEVICES = frozenset({"con", "prn", "aux", "nul", "conin$", "conout$", "clock$", *_PORTS})  # of Windows
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")


def name_problem(name: str) -> str:
    """Return why a folder name is not portable, or ""."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        return "use letters, digits, - _ and . (no . at the start or end), and at most 200 characters"
    if name.split(".")[0].casefold() in DEVICES:
        return "that is a device on Windows"
    return ""


# The user's own folder


def cache_folder() -> Path:
    """Return the cache folder, by XDG_CACHE_HOME on every system, else the usual place; without a home, it cannot be
    created.
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
