"""Writing files, whole or not at all; and removing what a run that was killed has left.

A file is written under another name beside it, which is locked meanwhile: what has such a name
and is not locked, nobody is writing any more."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..logging import put

_LEFTOVER = re.compile(r"\..{1,40}\.lmm-[0-9a-f]{16}\.tmp", re.S)
STANDARD_OUTPUT = "/dev/stdout"  # on Windows, too, where there is no such file
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def write_file(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file, atomically: a new file in the same folder, synced, then renamed over
    it (a device or a pipe is written to). Permissions stay; where `path` is a link, its
    target is written. check: called last, and may raise to keep the file. Raises OSError."""
    target = Path(os.path.realpath(path))
    if path.as_posix() == STANDARD_OUTPUT:
        put(data)  # opened by its name, a file that it is redirected to would be written to elsewhere
        return
    if is_stream(path):
        with path.open("ab") as stream:
            stream.write(data)
        return
    if target.exists() and not target.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "read-only: not written", str(path))
    try:
        replace_file(target, data, check)
    except OSError as error:  # which would name a file that nobody knows
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_stream(path: Path) -> bool:
    """Whether a path is a device or pipe, or /dev/stdout, which may lead to a file."""
    in_dev = path.is_absolute() and path.parts[1:2] == ("dev",)
    return in_dev or (path.exists() and not (path.is_file() or path.is_dir()))


def replace_file(target: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file, or a link, under just this name; else as `write_file`."""
    _remove_leftovers(target)
    handle, name = _create_beside(target)
    with os.fdopen(handle, "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(handle)
            copy_owner(target, name)
            _copy_mode(target, name)
            check()
            if sys.platform == "win32":  # which renames no open file
                file.close()
            os.replace(name, target)
        finally:
            if sys.platform == "win32":
                file.close()
            Path(name).unlink(missing_ok=True)  # where it has not become the target
    _sync_folder(target.parent)


def _create_beside(target: Path) -> tuple[int, str]:
    """A new file for what becomes the target, locked; opened, and its name. Raises OSError."""
    while True:
        name = str(target.with_name(f".{target.name[:40]}.lmm-{secrets.token_hex(8)}.tmp"))
        handle = os.open(name, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        _wait_for(handle)
        if sys.platform == "win32" or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # another has just taken it for a leftover


def copy_owner(target: Path, name: str | Path) -> None:
    """Give a file, which is about to replace another, that one's owner and group, as far as the
    system lets us. It goes before the permissions, of which a change of owner takes some away."""
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


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# What is left


def is_leftover(name: str) -> bool:
    """Whether a file has the name of one that becomes another."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftover(path: str) -> None:
    """Remove a file of such a name, unless it is being written; where that cannot be done, it
    stays."""
    with suppress(OSError):
        handle = os.open(path, _FLAGS | getattr(os, "O_NONBLOCK", 0))
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and _lock(handle) and sys.platform != "win32":
                Path(path).unlink()
        finally:
            os.close(handle)
        if sys.platform == "win32":  # which removes no file that somebody has open
            Path(path).unlink()


def _remove_leftovers(target: Path) -> None:
    start = f".{target.name[:40]}.lmm-"
    with os.scandir(target.parent) as entries:
        left = [entry.path for entry in entries if entry.name.startswith(start) and is_leftover(entry.name)]
    for path in left:
        remove_leftover(path)


if sys.platform == "win32":

    def _lock(file: int) -> bool:
        return True  # an open file is lock enough

    def _wait_for(file: int) -> None:
        """Nothing is to be waited for."""

else:
    import fcntl

    def _lock(file: int) -> bool:
        """Take the lock of a file; False where another has it, or where there are no locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _wait_for(file: int) -> None:
        """Take the lock as soon as it is free; where there are no locks, go on without: then
        nobody takes the file for a leftover."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
