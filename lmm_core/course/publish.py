"""Publish a site by swapping the published folder with a newly rendered one.

Both are renamed; if a run is killed in between, the next one restores the old site. A folder without our mark is
kept under another name."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import CourseError
from ..files.marked import has_mark, make_marked, mark_filled, own_place, protected_in, remove_marked
from ..logging import LoggerBase

COURSE, SITE = "course", "site"  # marks of our folders


def is_published(folder: Path) -> bool:
    """Return True if a folder holds a site that was checked and published here."""
    return has_mark(folder, SITE)


class Workshop:
    """The folders for building a course's site.

    course: absolute
    may_remove: replace the published folder even without our mark
    Raise CourseError for an unsuitable folder, and FolderError for one behind a link."""

    def __init__(self, course: Path, published: Path, may_remove: bool = False) -> None:
        published = Path(os.path.normpath(published))
        inside = published.is_relative_to(course)
        if course.is_relative_to(published) or (inside and published.relative_to(course).parts[0].startswith(".")):
            raise CourseError(f"{published} cannot be the folder of the site: name another one (--output FOLDER)")
        self.published = own_place(course, published) if inside else Path(os.path.realpath(published))
        own = own_place(course, Path(".lmm", "course"))
        # Renaming works only within one file system
        self.folder = own if inside else self.published.with_name(f".{self.published.name}.lmm-course")
        self.site = self.folder / "site"
        self._old = self.folder / "site.old"
        self._may_remove = may_remove
        self._folders = dict.fromkeys((own, self.folder))

    def check(self) -> None:
        """Raise CourseError if the published folder must not be replaced."""
        if self.published.is_file():
            raise CourseError(f"{self.published} is a file: the site needs a folder")
        if self.published.is_dir() and (protected := protected_in(self.published)):
            raise CourseError(
                f"{self.published} would be replaced, but {protected} lies in it: name another folder (--output FOLDER)"
            )

    def open(self) -> None:
        """Create empty folders. Raise FolderError and OSError."""
        self.close()
        for folder in self._folders:
            make_marked(folder, COURSE)

    def close(self) -> None:
        """Remove the folders, after restoring the site if a run was killed. Raise FolderError and OSError."""
        if self._old.is_dir() and not self.published.exists() and has_mark(self.folder, COURSE):
            self._old.rename(self.published)
        for folder in self._folders:
            remove_marked(folder, COURSE)

    def publish(self, logger: LoggerBase) -> None:
        """Swap in the rendered site. Raise OSError without having changed anything."""
        mark_filled(self.site, SITE)
        self.published.parent.mkdir(parents=True, exist_ok=True)
        if not self.published.exists():
            self.site.rename(self.published)
            return
        may_remove = self._may_remove or has_mark(self.published, SITE) or not any(self.published.iterdir())
        old = self._old if may_remove else self._free_name()
        self.published.rename(old)
        try:
            self.site.rename(self.published)
        except OSError:
            old.rename(self.published)
            raise
        if not may_remove:
            logger.warning(
                f"{self.published} was not made by lmm, so its contents are kept in {old}: remove them if nobody "
                "needs them"
            )

    def _free_name(self) -> Path:
        number = 1
        while (folder := self.folder.with_name(f"{self.folder.name}-replaced-{number}")).exists():
            number += 1
        return folder
