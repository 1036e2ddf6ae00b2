"""Lock a folder for one process at a time."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from ..errors import FolderError, StoreError
from ..files.marked import check_inside

NAME = ".lock"
QUEUE = ".queue"  # its lock makes a process next in line
WAIT = 1.0  # seconds; enough for a search to end
FAR = 1 << 20  # Windows makes locked bytes unreadable, so lock one beyond the content


class FolderLock:
    """The lock of a folder; the file has the holder's process id.

    The system releases it when the process ends; the file stays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    @property
    def is_of_folder(self) -> bool:
        """True if the lock file is still the folder's, not replaced by another process."""
        try:
            return self._file is not None and os.path.samestat(os.fstat(self._file), (self.folder / NAME).stat())
        except OSError:
            return False

    def take(self) -> None:
        """Take the lock. Raise StoreError if another process has it or the folder cannot be used."""
        file, queue = self._open(NAME), self._open(QUEUE)
        try:
            self._wait_for(file, queue)
        except StoreError:
            os.close(file)
            raise
        finally:
            os.close(queue)
        self._file = file

    def _open(self, name: str) -> int:
        try:
            check_inside(self.folder, self.folder / name)
            return os.open(self.folder / name, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FolderError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(
                f"The index in {self.folder} cannot be opened: {error.strerror}. Make its folder writable."
            ) from error

    def _wait_for(self, file: int, queue: int) -> None:
        """Wait in a queue, so that the last holder does not take the folder back first."""
        until = time.monotonic() + WAIT
        for lock_file in (queue, file):
            while not _lock(lock_file):
                if time.monotonic() > until:
                    raise StoreError(self._in_use(file))
                time.sleep(0.05)
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())

    def _in_use(self, file: int) -> str:
        os.lseek(file, 0, os.SEEK_SET)
        number = os.read(file, 20).decode(errors="replace").strip()
        if number == str(os.getpid()):
            return f"The index in {self.folder} is already open in this program: close it first."
        owner = f"another process (pid {number})" if number.isdigit() else "another process"
        return f"The index in {self.folder} is in use by {owner}. Try again when that process has ended."

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def is_awaited(folder: Path) -> bool:
    """Return True if another process waits for the folder."""
    try:
        queue = os.open(folder / QUEUE, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(queue)
    finally:
        os.close(queue)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> bool:
        try:
            os.lseek(file, FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
