"""Copy the packaged sample course.

Copies are marked, so that a new one replaces them but no other folder."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import CourseError
from ..files.create import create_files
from ..files.marked import make_marked, remove_marked
from ..installation import packaged_folder
from ..quarto.setup import extension_files

KIND = "sample-course"
_MADE_IN_IT = {"_book", "_instructor", "_extensions", "__pycache__"}  # left by rendering the sample itself


def sample_course() -> Path:
    """Return the packaged sample course. Raise CourseError."""
    if folder := packaged_folder("lmm_sample_book", "sample-book", "_quarto.yml"):
        return folder
    raise CourseError("the sample course is missing from this installation: install lmm-markdown again")


def copy_sample(folder: Path) -> None:
    """Copy the sample course and the Quarto extension into an empty folder or over an earlier copy.

    Raise FolderError for any other folder, CourseError, and OSError."""
    source = sample_course()
    remove_sample(folder)
    make_marked(folder, KIND)
    create_files(folder, {name: (source / name).read_bytes() for name in _names(source)} | extension_files())


def remove_sample(folder: Path) -> None:
    """Remove a copy of the sample course. Raise FolderError for any other folder."""
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        return
    remove_marked(Path(os.path.abspath(folder)), KIND)  # noqa: PTH100 (a link stays one)


def _names(source: Path) -> list[str]:
    found = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    return [path.as_posix() for path in found if not _MADE_IN_IT & set(path.parts) and path.parts[0][0] != "."]


def chapters(folder: Path) -> list[Path]:
    """Return a copy's chapters, except the one with a cell, which Quarto would run again after a change."""
    return sorted(folder.glob("0*.md"))
