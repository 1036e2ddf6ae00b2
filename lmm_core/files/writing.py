"""Replace files atomically.

A temporary file is locked while it is written; an unlocked one was left behind by a killed run.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

_LEFTOVER = re.compile(r"\..{1,40}\.lmm-[0-9a-f]{16}\.tmp", re.S)
PATIENCE = 1.0  # seconds of retries on Windows
STANDARD_OUTPUT = "/dev/stdout"  # also on Windows, which has no such file
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


def write_file(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file atomically: write a temporary file, sync it, rename it. Raise OSError.

    Streams are written directly. Permissions and links stay.
    check: called just before the file is replaced; if it raises, the old file stays
    """
    target = Path(os.path.realpath(path))
    if path.as_posix() == STANDARD_OUTPUT:
        from ..logging import put  # slow import

        put(data)  # opened by name, a file behind a redirection would be overwritten
        return
    if is_stream(path):
        with path.open("ab") as stream:
            stream.write(data)
        return
    if target.exists() and not target.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "read-only: not written", str(path))
    try:
        replace_file(target, data, check)
    except OSError as error:  # it names the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from error


def is_stream(path: Path) -> bool:
    """Return True for a device, a pipe, or /dev/stdout."""
    in_dev = path.is_absolute() and path.parts[1:2] == ("dev",) and path.parts[2:3] != ("shm",)  # a RAM disk
    return in_dev or (path.exists() and not (path.is_file() or path.is_dir()))


def replace_file(target: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file as `write_file` does, or a link itself."""
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
            Path(name).unlink(missing_ok=True)  # if not renamed
    sync_folder(target.parent)


def _create_beside(target: Path) -> tuple[int, str]:
    while True:
        name = str(target.with_name(f".{target.name[:40]}.lmm-{os.urandom(8).hex()}.tmp"))
        handle = os.open(name, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        _wait_for(handle)
        if sys.platform == "win32" or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # another run just removed it as a leftover


def copy_owner(target: Path, name: str | Path) -> None:
    """Copy owner and group, as far as the system allows.

    Call it before copying permissions: a change of owner clears some."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        status = target.stat(follow_symlinks=False)
        with suppress(OSError):  # only root may change the owner
            os.chown(name, status.st_uid, -1)
        os.chown(name, -1, status.st_gid)


def _copy_mode(target: Path, name: str) -> None:
    try:
        os.chmod(name, target.stat(follow_symlinks=False).st_mode & 0o7777)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, where possible."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_leftover(name: str) -> bool:
    """Return True for the name of a temporary file."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftover(path: str) -> None:
    """Remove a temporary file unless it is locked."""
    with suppress(OSError):
        handle = os.open(path, _FLAGS | getattr(os, "O_NONBLOCK", 0))
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and _lock(handle) and sys.platform != "win32":
                Path(path).unlink()
        finally:
            os.close(handle)
        if sys.platform == "win32":  # Windows does not remove open files
            Path(path).unlink()


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files that killed runs left for a target. Raise OSError."""
    start = f".{target.name[:40]}.lmm-"
    with os.scandir(target.parent) as entries:
        leftovers = [entry.path for entry in entries if entry.name.startswith(start) and is_leftover(entry.name)]
    for path in leftovers:
        remove_leftover(path)


if sys.platform == "win32":

    def _rename(name: str, target: Path) -> None:
        """Rename a file, retrying while it is open elsewhere."""
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
        """Return True: on Windows, an open file is already locked."""
        return True

    def _wait_for(file: int) -> None:
        """Do nothing: on Windows, an open file is already locked."""

else:
    import fcntl

    _rename = os.replace

    def _lock(file: int) -> bool:
        """Lock a file. Return False if it is locked elsewhere, or cannot be locked."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _wait_for(file: int) -> None:
        """Wait for the lock, if files can be locked."""
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


# New files and folders


def create_file(path: Path, data: bytes) -> None:
    """Create a file completely or not at all. Raise FileExistsError and OSError."""
    file = path.open("xb")
    try:
        with file:
            file.write(data)
    except OSError as error:  # on a full disk, the error has no file name
        path.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def create_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create files and their folders, all or none. Raise OSError."""
    created: list[Path] = []
    try:
        for name, data in files.items():
            created += make_folders((folder / name).parent)
            create_file(folder / name, data)
            created.append(folder / name)
    except OSError:
        for path in reversed(created):
            path.rmdir() if path.is_dir() else path.unlink()
        raise


def make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents, and return those created, the outermost first. Raise OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    for path in missing:
        path.mkdir()
    return missing
