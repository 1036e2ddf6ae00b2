"""A stand-in for Windows, as far as our code asks for it: `sys.platform`, no POSIX modules, and `msvcrt`.

Locks of `msvcrt` are of bytes, and belong to an opened file; Linux has such locks, too. What stays as it
is here: paths, permissions, and that an open file can be renamed and removed.
"""

import fcntl
import importlib
import os
import struct
import sys
import types
from pathlib import Path

MISSING = ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp")  # modules that Windows does not have
LK_UNLCK, LK_LOCK, LK_NBLCK = 0, 1, 2
_SET_LOCK = 37  # F_OFD_SETLK


def locking(file, mode, size):
    """Lock bytes of a file from the current place, as `msvcrt.locking` does, or raise OSError."""
    start = os.lseek(file, 0, os.SEEK_CUR)
    kind = fcntl.F_UNLCK if mode == LK_UNLCK else fcntl.F_WRLCK
    fcntl.fcntl(file, _SET_LOCK, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, size, 0))


def modules():
    """The names of our modules."""
    root = Path(__file__).parents[1]
    for folder, package in (("lmm_core", "lmm_core"), ("filters", "lmm_filters")):
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            yield ".".join((package, *(part for part in parts if part != "__init__")))


def import_others():
    """Import what our modules import of other people's, which has to see the system as it is."""
    for name in [*modules()]:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lmm_core", "lmm_filters")]:
        del sys.modules[name]


def pretend():
    """Let this process take the system for Windows from now on."""
    import_others()
    sys.modules["msvcrt"] = types.ModuleType("msvcrt")
    vars(sys.modules["msvcrt"]).update(locking=locking, LK_NBLCK=LK_NBLCK, LK_LOCK=LK_LOCK, LK_UNLCK=LK_UNLCK)
    sys.modules["colorama"] = types.ModuleType("colorama")
    vars(sys.modules["colorama"])["just_fix_windows_console"] = lambda: None
    for name in MISSING:
        sys.modules[name] = None
    sys.platform = "win32"


def main():
    """Run `lmm` with the arguments of this process."""
    pretend()
    sys.argv[0] = "lmm"
    importlib.import_module("lmm_core.cli").main()


if __name__ == "__main__":
    main()
