"""The parent processes. Linux describes them in files; elsewhere psutil asks the system, but takes long to import."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MOST = 6  # between pandoc and its filter there may be a shell, or a starter of Python
_PANDOC = re.compile(r"pandoc([-_.]?[\d.]+)?(\.exe)?$", re.I)


class Ancestor(NamedTuple):
    """A process. names: of its program, and by which the system calls it; ident: tells it from every other."""

    names: tuple[str, str]
    command: list[str]
    folder: Path
    ident: str


def find_pandoc() -> Ancestor | None:
    """Return the pandoc that is our parent process or a near ancestor, or None if there is none that can be seen."""
    for process in find_ancestors():
        if any(_PANDOC.match(Path(name).name) for name in process.names):
            return process
    return None


def find_ancestors() -> Iterator[Ancestor]:
    """Yield the processes above this one, the nearest first, as far as they can be seen."""
    return _in_proc() if sys.platform == "linux" else _by_psutil()


def _in_proc() -> Iterator[Ancestor]:
    pid = os.getppid()
    for _ in range(MOST):
        place = Path("/proc", str(pid))
        try:
            name, _, rest = (place / "stat").read_text("utf-8", "surrogateescape").partition("(")[2].rpartition(")")
            fields = rest.split()  # state, parent, …; the time at which it began is the 20th
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
