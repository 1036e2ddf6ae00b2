"""Parent processes, from /proc on Linux, else by psutil, which is slow to import."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOST = 6  # shells and Python launchers may be between pandoc and its filter
_PANDOC = re.compile(r"pandoc([-_.]?[\d.]+)?(\.exe)?$", re.I)


class Ancestor(NamedTuple):
    """A process, uniquely identified by `ident`."""

    names: tuple[str, str]
    command: list[str]
    folder: Path
    ident: str


def find_pandoc() -> Ancestor | None:
    """Return the nearest ancestor that is pandoc, or None."""
    for process in find_ancestors():
        if any(_PANDOC.match(Path(name).name) for name in process.names):
            return process
    return None


def find_ancestors() -> Iterator[Ancestor]:
    """Yield the ancestors, nearest first, as far as visible."""
    return _in_proc() if sys.platform == "linux" else _by_psutil()


def _in_proc() -> Iterator[Ancestor]:
    pid = os.getppid()
    for _ in range(MOST):
        place = Path("/proc", str(pid))
        try:
            name, _, rest = (place / "stat").read_text("utf-8", "surrogateescape").partition("(")[2].rpartition(")")
            fields = rest.split()  # state, parent, …; the 20th is the start time
            command = os.fsdecode((place / "cmdline").read_bytes()).split("\0")[:-1]
            names = (str((place / "exe").readlink()).removesuffix(" (deleted)"), name)
            yield Ancestor(names, command, (place / "cwd").readlink(), f"{pid}/{fields[19]}")
        except (OSError, IndexError):
            return
        pid = int(fields[1])


def _by_psutil() -> Iterator[Ancestor]:
    import psutil

    try:
        for process in psutil.Process().parents()[:MOST]:
            command = process.cmdline()
            names = (process.exe() or command[0], process.name())
            yield Ancestor(names, command, Path(process.cwd()), f"{process.pid}/{process.create_time()}")
    except (psutil.Error, OSError, IndexError):
        return
