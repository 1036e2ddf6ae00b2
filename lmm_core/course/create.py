"""Create a course from a folder of notes, or copy the packaged sample course.

Existing files stay; missing lines are returned for pasting."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Literal

from ..errors import CourseError, FolderError
from ..files.marked import check_inside, make_marked, remove_marked
from ..files.writing import create_files
from ..installation import ADDRESS, PACKAGE, packaged_folder, requirement
from ..quarto.setup import extension_files, extension_place, lacking_files
from ..settings.quarto_inputs import find_inputs
from ..settings.quarto_project import project_file
from ..settings.tables import CONFIG_NAME
from .run import output_dir

_FILES = Path(__file__).with_name("files")
WORKFLOW = ".github/workflows/course.yml"
WHEELS = "wheels"
# Workflow lines that only some courses need
_QUARTO_ALONE, _R_ALONE = "quarto-dev/", "r-lib/"
_PYTHON_CELL, _R_CELL = (re.compile(rf"^[ \t]*```+ *\{{{language}\b", re.M) for language in ("python", "r"))

State = Literal["written", "left alone", "lacks"]


@dataclass(frozen=True, slots=True)
class CoursePart:
    """A file of a course, or the extension's folder.

    note: missing content, as a sentence
    paste: lines that the file may need"""

    path: str
    state: State
    note: str = ""
    paste: str = ""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A file to create. sign: text showing that an existing file is complete."""

    name: str
    text: str
    sign: str = ""


def create_course(
    folder: Path, quarto: bool | None = None, vscode: bool = False, dry_run: bool = False
) -> list[CoursePart]:
    """Create missing files, all or none, and return the state of each. Raise LmmError and OSError.

    quarto: render with Quarto; None: if installed, or in a Quarto project"""
    _check_folder(folder)
    with_quarto = bool(which("quarto") or project_file(folder)) if quarto is None else quarto
    planned = [*_plan(folder, with_quarto), *(_for_vscode() if vscode else ())]
    files = {plan.name: plan.text.encode("utf-8") for plan in planned if not _is_there(folder / plan.name)}
    extension = lacking_files(folder) if with_quarto else {}
    for name in files | extension:
        check_inside(folder, folder / name)
    if not dry_run:
        create_files(folder, files | extension)
    parts = [_part(folder, plan, is_new=plan.name in files) for plan in planned]
    if with_quarto:
        for place, start in ((folder / "_quarto.yml", "_quarto.yml"), (extension_place(folder), "_extensions/")):
            is_new = any(name.startswith(start) for name in extension)
            parts.append(CoursePart(str(place), "written" if is_new else "left alone"))
    return parts


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file: name a folder")
    if folder.resolve() == Path(os.path.expanduser("~")).resolve():  # noqa: PTH111 (Path.home fails without one)
        raise FolderError(f"{folder} is your home folder: name a folder for the course (lmm init course)")


def _is_there(path: Path) -> bool:
    if path.is_dir():
        raise FolderError(f"{path} is a folder, and a file of this name is needed: move it away")
    return path.exists()


def _part(folder: Path, plan: _Planned, is_new: bool) -> CoursePart:
    path = folder / plan.name
    if is_new:
        return CoursePart(str(path), "written")
    if plan.sign in path.read_text("utf-8", "replace"):
        return CoursePart(str(path), "left alone")
    return CoursePart(str(path), "lacks", "was left alone, and may need these lines as well:", plan.text)


# The files


def _plan(folder: Path, with_quarto: bool) -> Iterator[_Planned]:
    notes = [path.read_text("utf-8", "replace") for path in find_inputs(folder)] if folder.is_dir() else []
    site = output_dir(folder).strip("/")
    yield _Planned(CONFIG_NAME, _text("config.toml"))
    yield _Planned(".gitignore", f"/.lmm/\n/.quarto/\n/.venv/\n/{site}/\n", ".lmm")
    if not notes:
        yield _Planned("index.md", _text("index.md"))
    yield _Planned("requirements.txt", _requirements(with_quarto and any(map(_PYTHON_CELL.search, notes))), PACKAGE)
    if repository_of(folder) in (None, folder.resolve()):  # pre-commit and GitHub read only the repository's root
        yield _Planned(".pre-commit-config.yaml", _text("hooks.yaml"), "lmm-check")
        has_r = with_quarto and any(map(_R_CELL.search, notes))
        yield _Planned(_publishing(folder) or WORKFLOW, _workflow(site, with_quarto, has_r), "lmm course")


def _text(name: str) -> str:
    return (_FILES / name).read_text("utf-8")


def _requirements(has_cells: bool) -> str:
    lines = [*([] if ADDRESS else [f"--find-links {WHEELS}"]), requirement(), *(["jupyter"] if has_cells else [])]
    return "\n".join(lines) + "\n"


def _workflow(site: str, with_quarto: bool, has_r: bool) -> str:
    unneeded = [sign for sign, is_needed in ((_QUARTO_ALONE, with_quarto), (_R_ALONE, has_r)) if not is_needed]
    lines = _text("course.yml").splitlines(keepends=True)
    text = "".join(line for line in lines if not any(sign in line for sign in unneeded))
    return text if site == "_site" else text.replace("path: _site", f"path: {json.dumps(site)}")


def _publishing(folder: Path) -> str | None:
    for file in sorted((folder / WORKFLOW).parent.glob("*.y*ml")):
        if "lmm course" in file.read_text("utf-8", "replace"):
            return file.relative_to(folder).as_posix()
    return None


def _for_vscode() -> Iterator[_Planned]:
    yield _Planned(".vscode/tasks.json", _text("vscode-tasks.json"), '"lmm: ')
    yield _Planned(".vscode/lmm.code-snippets", _text("vscode-snippets.json"))
    yield _Planned(".vscode/settings.json", _text("vscode-settings.json"), "/.venv/bin")


def repository_of(folder: Path) -> Path | None:
    """Return the root of a folder's git repository, or None."""
    place = folder.resolve()
    return next((parent for parent in (place, *place.parents) if (parent / ".git").exists()), None)


# The sample course. Copies are marked, so that a new one replaces no other folder.

_SAMPLE = "sample-course"
_MADE_IN_IT = {"_book", "_instructor", "_extensions", "__pycache__"}  # left by rendering the sample itself


def sample_course() -> Path:
    """Return the packaged sample course. Raise CourseError."""
    if folder := packaged_folder("lmm_sample_book", "sample-book", "_quarto.yml"):
        return folder
    raise CourseError("the sample course is missing from this installation: install lmm-markdown again")


def copy_sample(folder: Path) -> None:
    """Copy the sample course and the Quarto extension into an empty folder or over an earlier copy.

    Raise FolderError for other folders, CourseError, and OSError."""
    source = sample_course()
    remove_sample(folder)
    make_marked(folder, _SAMPLE)
    create_files(folder, {name: (source / name).read_bytes() for name in _names(source)} | extension_files())


def remove_sample(folder: Path) -> None:
    """Remove a copy of the sample course. Raise FolderError for any other folder."""
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        return
    remove_marked(Path(os.path.abspath(folder)), _SAMPLE)  # noqa: PTH100 (a link stays one)


def _names(source: Path) -> list[str]:
    files = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
    return [path.as_posix() for path in files if not _MADE_IN_IT & set(path.parts) and path.parts[0][0] != "."]


def chapters(folder: Path) -> list[Path]:
    """Return a copy's chapters, except the one with a cell, which Quarto would run again after a change."""
    return sorted(folder.glob("0*.md"))
