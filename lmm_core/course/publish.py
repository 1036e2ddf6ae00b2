"""Publish a site: put the folder that was rendered in the place of the one before.

A site is rendered and checked in a folder of ours beside. Then the two folders change places, at
once where the system can do that, else by renames, which the next run completes if one is killed
between them. A folder that we have not made is kept under another name.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

from ..errors import CourseError
from ..files.marked import has_mark, held_in, make_marked, mark_filled, own_place, remove_marked
from ..logging import LoggerBase

COURSE, SITE = "course", "site"  # the marks by which our folders are known
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)  # errors of file systems that cannot exchange
_WORKING_FOLDER = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE, on macOS RENAME_SWAP


class Workshop:
    """The folders in which the site of a course is made. course: the course's folder, absolute;
    published: the folder of its site; may_remove: what is in that folder may be removed, whoever made
    it. Raise CourseError if that cannot be one, and FolderError if a link lies on the way to it."""

    def __init__(self, course: Path, published: Path, may_remove: bool = False) -> None:
        published = Path(os.path.normpath(published))
        inside = published.is_relative_to(course)
        if course.is_relative_to(published) or (inside and published.relative_to(course).parts[0].startswith(".")):
            raise CourseError(f"{published} cannot be the folder of the site: name another one (--output FOLDER)")
        self.published = own_place(course, published) if inside else Path(os.path.realpath(published))
        own = own_place(course, Path(".lmm", "course"))
        # Folders can only change places within one file system.
        self.folder = own if inside else self.published.with_name(f".{self.published.name}.lmm-course")
        self.site = self.folder / "site"
        self._old = self.folder / "site.old"
        self._may_remove = may_remove
        self._folders = dict.fromkeys((own, self.folder))

    def check(self) -> None:
        """Raise CourseError if the published folder may not be replaced."""
        if self.published.is_file():
            raise CourseError(f"{self.published} is a file: the site needs a folder")
        if self.published.is_dir() and (held := held_in(self.published)):
            raise CourseError(
                f"{self.published} would be replaced, but {held} lies in it: name another folder (--output FOLDER)"
            )

    def open(self) -> None:
        """Make the folders anew. Raise FolderError and OSError."""
        self.close()
        for folder in self._folders:
            make_marked(folder, COURSE)

    def close(self) -> None:
        """Remove the folders. First put back the site that a killed run was about to replace. Raise
        FolderError and OSError."""
        if self._old.is_dir() and not self.published.exists() and has_mark(self.folder, COURSE):
            self._old.rename(self.published)
        for folder in self._folders:
            remove_marked(folder, COURSE)

    def publish(self, logger: LoggerBase) -> None:
        """Put the rendered site in the place of the published one. Raise OSError if that fails, in which
        case nothing has changed."""
        mark_filled(self.site, SITE)
        self.published.parent.mkdir(parents=True, exist_ok=True)
        if not self.published.exists():
            self.site.rename(self.published)
        elif self._may_remove or has_mark(self.published, SITE) or not any(self.published.iterdir()):
            self._exchange(self.site)
        else:
            kept = self._free_name()
            self.site.rename(kept)
            self._exchange(kept)
            logger.warning(
                f"{self.published} was not made by lmm, so what was in it is kept, in {kept}: remove that if nobody "
                "needs it"
            )

    def _free_name(self) -> Path:
        """Return a name for a folder that we have not made."""
        number = 1
        while (found := self.folder.with_name(f"{self.folder.name}-replaced-{number}")).exists():
            number += 1
        return found

    def _exchange(self, made: Path) -> None:
        """Let a folder and the published one change places."""
        if _exchange_at_once(made, self.published):
            return
        self.published.rename(self._old)
        try:
            made.rename(self.published)
        except OSError:
            self._old.rename(self.published)
            raise
        self._old.rename(made)


def _exchange_at_once(one: Path, other: Path) -> bool:
    """Let two folders change places in one step. Return False if the system cannot do that, and raise
    OSError if it fails."""
    if sys.platform == "win32":
        return False
    paths = os.fsencode(one), os.fsencode(other)
    libc = ctypes.CDLL(None, use_errno=True)
    failed: int
    if sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(*paths, _EXCHANGE)
    elif sys.platform == "linux" and hasattr(libc, "renameat2"):
        failed = libc.renameat2(_WORKING_FOLDER, paths[0], _WORKING_FOLDER, paths[1], _EXCHANGE)
    else:
        return False
    found = ctypes.get_errno()
    if failed and found not in _CANNOT:
        raise OSError(found, os.strerror(found), str(other))
    return not failed
