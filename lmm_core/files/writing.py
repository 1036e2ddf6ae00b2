"""Replace files atomically, and clean up after killed runs.

A file is written under another name beside its target, and locked meanwhile. Such a file without a lock is garbage."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_LEFTOVER = re.compile(r"\..{1,40}\.lmm-[0-9a-f]{16}\.tmp", re.S)
PATIENCE = 1.0  # seconds for which a file is tried on Windows that another program has open
STANDARD_OUTPUT = "/dev/stdout"  # also on Windows, which has no such file
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def write_file(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file atomically: write a new one beside it, sync it, and rename it.

    Devices and pipes are written directly. Permissions stay; a link stays and its target is replaced. check: called
    last, may raise to keep the old file. Raise OSError."""
    target = Path(os.path.realpath(path))
    if path.as_posix() == STANDARD_OUTPUT:
        from ..logging import put  # loads much, and this module is loaded at each start

        put(data)  # opening it by name would write to a redirected file at the wrong position
        return
    if is_stream(path):
        with path.open("ab") as stream:
            stream.write(data)
        return
    if target.exists() and not target.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "read-only: not written", str(path))
    try:
        replace_file(target, data, check)
    except OSError as error:  # it names the temporary file, which nobody knows
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_stream(path: Path) -> bool:
    """Return True if a path is a device, a pipe, or /dev/stdout (which may lead to a file)."""
    in_dev = path.is_absolute() and path.parts[1:2] == ("dev",) and path.parts[2:3] != ("shm",)  # a RAM disk
    return in_dev or (path.exists() and not (path.is_file() or path.is_dir()))


def replace_file(target: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file, or a link itself, under exactly this name; otherwise as `write_file`."""
    remove_leftovers(target)
    handle, name = _create_beside(target)
    with os.fdopen(handle, "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(handle)
            copy_owner(target, name)
            _copy_mode(target, name)
            check()
            if sys.platform == "win32":  # Windows cannot rename an open file
                file.close()
            _rename(name, target)
        finally:
            if sys.platform == "win32":
                file.close()
            Path(name).unlink(missing_ok=True)  # if it did not become the target
    sync_folder(target.parent)


def _create_beside(target: Path) -> tuple[int, str]:
    """Create and lock a new file that will become the target; return its handle and name. Raise OSError."""
    while True:
        name = str(target.with_name(f".{target.name[:40]}.lmm-{os.urandom(8).hex()}.tmp"))
        handle = os.open(name, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        _wait_for(handle)
        if sys.platform == "win32" or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # another run has just removed it as a leftover


def copy_owner(target: Path, name: str | Path) -> None:
    """Give a file the owner and group of the one it will replace, as far as the system allows.

    Call this before setting permissions: changing the owner clears some of them."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        found = target.stat(follow_symlinks=False)
        with suppress(OSError):  # only root may give a file away
            os.chown(name, found.st_uid, -1)
        os.chown(name, -1, found.st_gid)


def _copy_mode(target: Path, name: str) -> None:
    try:
        os.chmod(name, target.stat(follow_symlinks=False).st_mode & 0o7777)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder, where the system can tell."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# What is left


def is_leftover(name: str) -> bool:
    """Return True if a file has the name of one on its way to replace another."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftover(path: str) -> None:
    """Remove a file of such a name unless somebody is writing it; if that fails, it stays."""
    with suppress(OSError):
        handle = os.open(path, _FLAGS | getattr(os, "O_NONBLOCK", 0))
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and _lock(handle) and sys.platform != "win32":
                Path(path).unlink()
        finally:
            os.close(handle)
        if sys.platform == "win32":  # Windows removes no file that somebody has open
            Path(path).unlink()


def remove_leftovers(target: Path) -> None:
    """Remove what killed runs left of new versions of a file. Raise OSError if its folder cannot be read."""
    start = f".{target.name[:40]}.lmm-"
    with os.scandir(target.parent) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(start) and is_leftover(entry.name)]
    for path in left:
        remove_leftover(path)


if sys.platform == "win32":

    def _rename(name: str, target: Path) -> None:
        """Rename a file. Windows refuses while another program has one of the two open, so try again for a second."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                os.replace(name, target)
                return
            except PermissionError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def _lock(file: int) -> bool:
        """Take the lock of a file. Return False if another has it, or if there are no locks."""
        return True  # an open file is locked already

    def _wait_for(file: int) -> None:
        """Do nothing: an open file is locked already."""

else:
    import fcntl

    _rename = os.replace

    def _lock(file: int) -> bool:
        """Take the lock of a file; False where another has it, or where there are no locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _wait_for(file: int) -> None:
        """Wait for the lock of a file and take it. Without locks go on: nobody clears up then."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
