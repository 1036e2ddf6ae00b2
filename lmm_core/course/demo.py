"""Make a copy of the sample course that came with this package, and lecture notes of its chapters.

The copy carries our mark: a new copy replaces it, and no other folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..errors import CourseError
from ..files.create import create_files
from ..files.marked import make_marked, remove_marked
from ..workflows.doctor import packaged_pandoc

KIND = "sample-course"
NOTES = "notes"  # the folder of the lecture notes, in the copy
_MADE_IN_IT = {"_book", "_instructor", "_extensions", "__pycache__"}  # where somebody has rendered the sample itself


def sample_course() -> Path:
    """Return the folder of the sample course: beside the package where it is installed, else in the source tree.

    Raise CourseError if it is missing."""
    base = Path(__file__).parents[2]
    for folder in (base / "lmm_sample_book", base / "sample-book"):
        if (folder / "_quarto.yml").is_file():
            return folder
    raise CourseError("the sample course is missing from this installation: install lmm-markdown again")


def copy_sample(folder: Path) -> None:
    """Copy the sample course into a folder: a new or empty one, or that of an earlier copy, which is replaced.

    Raise FolderError for any other, CourseError, and OSError if the copy cannot be written."""
    source = sample_course()
    remove_sample(folder)
    make_marked(folder, KIND)
    create_files(folder, {name: (source / name).read_bytes() for name in _names(source)})


def remove_sample(folder: Path) -> None:
    """Remove a copy of the sample course, if it is there. Raise FolderError if the folder is anything else."""
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        return
    remove_marked(Path(os.path.abspath(folder)), KIND)  # noqa: PTH100 (a link stays one)


def _names(source: Path) -> list[str]:
    """Return the files of the sample course, by their paths in it."""
    found = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    return [path.as_posix() for path in found if not _MADE_IN_IT & set(path.parts) and path.parts[0][0] != "."]


def chapters(folder: Path) -> list[Path]:
    """Return the chapters of a copy that pandoc reads (that with a cell is for Quarto)."""
    return sorted(folder.glob("0*.md"))


def knit_notes(folder: Path) -> list[Path]:
    """Make lecture notes of the chapters of a copy, by pandoc, and return their pages.

    Raise CourseError if there is no pandoc, or if it fails."""
    pandoc = shutil.which("pandoc") or packaged_pandoc()
    if pandoc is None:
        raise CourseError("there is no pandoc to make lecture notes: `lmm doctor` says what to do")
    target = folder / NOTES
    shutil.copytree(folder / "figures", target / "figures", ignore=shutil.ignore_patterns("*.py"))
    return [_knit(str(pandoc), chapter, target / f"{chapter.stem}.html") for chapter in chapters(folder)]


def _knit(pandoc: str, chapter: Path, page: Path) -> Path:
    output = page.relative_to(chapter.parent)
    command = [pandoc, "-F", "lmm-knit", "--citeproc", "--mathml", "-s", chapter.name, "-o", str(output)]
    done = subprocess.run(command, cwd=chapter.parent, env=_with_our_filters(), stdout=2, check=False)
    if done.returncode:
        raise CourseError(f"pandoc has not made {page}; what it said stands above")
    return page


def _with_our_filters() -> dict[str, str]:
    """Return the environment with the folder of our filters on PATH, where pandoc looks for them."""
    own = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", ""), own])}
