"""Make a course of a folder of notes, or of nothing. No file that is there is changed: what it lacks
is returned as lines to paste."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from typing import Literal

from .. import __version__
from ..errors import ConfigError, FolderError
from ..files.create import create_files
from ..files.gitignore import is_ignored
from ..files.marked import check_inside
from ..installation import ADDRESS, PACKAGE, requirement
from ..quarto.check import check_project
from ..quarto.setup import extension_place, lacking_files
from ..settings.names import CONFIG_NAME
from ..settings.project import load_project
from ..settings.quarto_inputs import find_inputs
from ..settings.quarto_project import mapping_in, project_file, read_project
from .editors import (
    SCHEMA_LINE,
    lacking_in_rstudio,
    lacking_in_vscode,
    rstudio_snippets,
    rstudio_snippets_file,
    vscode_files,
)
from .run import OUTPUTS

_FILES = Path(__file__).with_name("files")
WORKFLOW = ".github/workflows/course.yml"
HOOKS = ".pre-commit-config.yaml"
REQUIREMENTS = "requirements.txt"
WHEELS = "wheels"
SITE = "_site"
_QUARTO_ALONE = "quarto-dev/"  # in the lines of the workflow that set up Quarto
_CELL = re.compile(r"^[ \t]*```+ *\{python", re.M)
_SETUP_QUARTO = "uses: quarto-dev/quarto-actions/setup@v2"

State = Literal["written", "left alone", "lacks"]


@dataclass(frozen=True, slots=True)
class CoursePart:
    """A file of a course, or the folder of its Quarto extension, and what became of it.

    note: what is missing, as a sentence; paste: the lines that mend it."""

    path: str
    state: State
    note: str = ""
    paste: str = ""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A file to write unless it is there. lacking: returns the lines that its present text lacks."""

    name: str
    text: str
    lacking: Callable[[str], str] = lambda text: ""


def create_course(
    folder: Path, quarto: bool | None = None, editors: Sequence[str] = (), dry_run: bool = False
) -> list[CoursePart]:
    """Write the files that a course lacks, all or none, and return what became of each.

    quarto: whether Quarto renders the course (None: if it is on PATH, or the folder is a project of
    Quarto's); editors: "vscode" and "rstudio" get tasks and snippets; dry_run: write nothing. Raise
    LmmError if something is in the way, and OSError."""
    _check_folder(folder)
    with_quarto = bool(which("quarto") or project_file(folder)) if quarto is None else quarto
    planned = [*_plan(folder, with_quarto, editors), *_for_editors(folder, editors)]
    files = {one.name: one.text.encode("utf-8") for one in planned if not _is_there(folder / one.name)}
    extension = lacking_files(folder) if with_quarto else {}
    for name in files | extension:
        if not Path(name).is_absolute():  # RStudio's snippets are in the user's settings
            check_inside(folder, folder / name)
    if not dry_run:
        create_files(folder, files | extension)
    parts = [_part(folder, one, one.name in files) for one in planned]
    parts += _quarto_parts(folder, extension) if with_quarto else []
    return [*parts, *_outside(folder, with_quarto), *_problems(folder, with_quarto, parts)]


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file: name a folder")
    if folder.resolve() == Path(os.path.expanduser("~")).resolve():  # noqa: PTH111 (Path.home fails without one)
        raise FolderError(f"{folder} is your home folder: name a folder for the course (lmm init course)")


def _is_there(path: Path) -> bool:
    if path.is_dir():
        raise FolderError(f"{path} is a folder, and a file of this name is needed: move it away")
    return path.exists()


def _part(folder: Path, one: _Planned, is_new: bool) -> CoursePart:
    path = folder / one.name
    if is_new:
        return CoursePart(str(path), "written")
    paste = one.lacking(path.read_text("utf-8", "replace"))
    return CoursePart(str(path), "lacks", "has to have these lines as well:", paste) if paste else CoursePart(
        str(path), "left alone"
    )  # fmt: skip


# The files


def _plan(folder: Path, with_quarto: bool, editors: Sequence[str]) -> list[_Planned]:
    notes = _notes(folder)
    site = _site(folder)
    schema = SCHEMA_LINE if "vscode" in editors else ""
    planned = [
        _Planned(CONFIG_NAME, schema + _text("config.toml"), lambda text: "" if schema in text else schema),
        _Planned(
            ".gitignore",
            _lines(_ignored(site)),
            lambda text: _lines(_unignored(folder, site)),
        ),
        *([] if notes else [_Planned("index.md", _text("index.md"))]),
        _Planned(REQUIREMENTS, _requirements(notes, with_quarto), _lacking_requirement),
    ]
    if repository_of(folder) in (None, folder.resolve()):
        planned.append(_Planned(HOOKS, _hooks(""), _lacking_hooks))
        workflow = (_publishing(folder) or folder / WORKFLOW).relative_to(folder).as_posix()
        lacking = partial(_lacking_steps, with_quarto=with_quarto)
        planned.append(_Planned(workflow, _workflow(with_quarto, site, ""), lacking))
    return planned


def _for_editors(folder: Path, editors: Sequence[str]) -> Iterator[_Planned]:
    if "vscode" in editors:
        for name, text in vscode_files().items():
            yield _Planned(name, text, partial(lacking_in_vscode, name))
    if "rstudio" in editors:
        yield _Planned(str(rstudio_snippets_file().absolute()), rstudio_snippets(), lacking_in_rstudio)


def _notes(folder: Path) -> list[Path]:
    """Return the documents of a folder that become pages."""
    return find_inputs(folder) if folder.is_dir() else []


def _text(name: str) -> str:
    return (_FILES / name).read_text("utf-8")


def _site(folder: Path) -> str:
    """Return the folder of the rendered site, relative to the course."""
    settings = read_project(folder)
    kind = mapping_in(settings, "project").get("type")
    said = mapping_in(settings, "project").get("output-dir")
    return str(said or OUTPUTS.get(str(kind), SITE)).strip("/")


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _ignored(site: str) -> list[str]:
    return ["/.lmm/", "/.quarto/", "/.venv/", f"/{site}/"]


def _unignored(folder: Path, site: str) -> list[str]:
    """Return the lines about what git is to ignore that `.gitignore` lacks."""
    return [line for line in _ignored(site) if not is_ignored(folder.resolve(), f"{line.strip('/')}/x")]


def _requirements(notes: list[Path], with_quarto: bool) -> str:
    """Return what `pip install -r` needs: this package, and Jupyter if a page has cells to run."""
    lines = [] if ADDRESS else [f"--find-links {WHEELS}"]
    has_cells = with_quarto and any(_CELL.search(path.read_text("utf-8", "replace")) for path in notes)
    return "\n".join([*lines, requirement(), *(["jupyter"] if has_cells else [])]) + "\n"


def _lacking_requirement(text: str) -> str:
    has_package = re.search(rf"^\s*{PACKAGE}\b", text.replace("_", "-"), re.M | re.I)
    return "" if has_package else _requirements([], False)


def _hooks(below: str) -> str:
    """Return the configuration of pre-commit. below: the folder of the course in its repository."""
    text = _text("hooks.yaml")
    if ADDRESS:
        text = text[: text.index("  - repo: local")] + (
            f"  - repo: {ADDRESS}\n    rev: v{__version__}\n    hooks:\n"
            "      - id: lmm-check\n      - id: lmm-rag-check\n        stages: [pre-push]\n"
        )
    return text.replace("(?i)", f"(?i)^{re.escape(below)}/.*") if below else text


def _lacking_hooks(text: str) -> str:
    return "" if "lmm-check" in text or "lmm scan" in text else _entries(_hooks(""))


def _entries(hooks: str) -> str:
    return hooks[hooks.index("  - repo:") :]


def _workflow(with_quarto: bool, site: str, below: str) -> str:
    """Return the workflow. below: the folder of the course in its repository."""
    lines = _text("course.yml").splitlines(keepends=True)
    text = "".join(line for line in lines if with_quarto or _QUARTO_ALONE not in line)
    text = text.replace(f"path: {SITE}", f"path: {json.dumps(site)}" if site != SITE else f"path: {SITE}")
    if not below:
        return text
    start = f"defaults:\n  run:\n    working-directory: {json.dumps(below)}\n\njobs:\n"
    return re.sub(r'path: "?([^"\n]+)"?', lambda found: f"path: {json.dumps(below + '/' + found[1])}", text).replace(
        "jobs:\n", start, 1
    )


def _publishing(root: Path, below: str = "") -> Path | None:
    """Return the workflow of a repository that makes the course in the folder `below` already, or None."""
    texts = {file: file.read_text("utf-8", "replace") for file in sorted((root / WORKFLOW).parent.glob("*.y*ml"))}
    return next((file for file, text in texts.items() if "lmm course" in text and below in text), None)


def _lacking_steps(text: str, with_quarto: bool) -> str:
    """Return the steps that a workflow lacks to make the course."""
    lacking = [_SETUP_QUARTO] if with_quarto and _QUARTO_ALONE not in text else []
    lacking += [] if "lmm course" in text else ["run: pip install -r requirements.txt", "run: lmm course"]
    return "".join(f"      - {step}\n" for step in lacking)


# What is there


def _quarto_parts(folder: Path, written: Mapping[str, bytes]) -> list[CoursePart]:
    settings = project_file(folder) or folder / "_quarto.yml"
    places = {str(settings): settings.name, str(extension_place(folder)): "_extensions/"}
    return [
        CoursePart(path, "written" if any(name.startswith(start) for name in written) else "left alone")
        for path, start in places.items()
    ]


def _outside(folder: Path, with_quarto: bool) -> list[CoursePart]:
    """Return what belongs into the root of the repository that the folder is a part of. Nothing
    outside of the folder is written."""
    root = repository_of(folder)
    if root is None or root == folder.resolve():
        return []
    below = folder.resolve().relative_to(root).as_posix()
    note = f"is read only in the root of the repository, and lmm writes nothing outside of {folder}. Paste:"
    parts = []
    if not _publishing(root, below):
        parts.append(CoursePart(str(root / WORKFLOW), "lacks", note, _workflow(with_quarto, _site(folder), below)))
    if not (root / HOOKS).is_file() or _lacking_hooks((root / HOOKS).read_text("utf-8", "replace")):
        text = _entries(_hooks(below)) if (root / HOOKS).is_file() else _hooks(below)
        parts.append(CoursePart(str(root / HOOKS), "lacks", note, text))
    return parts


def repository_of(folder: Path) -> Path | None:
    """Return the root of the git repository that a folder lies in, or None."""
    place = folder.resolve()
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), None)


def _problems(folder: Path, with_quarto: bool, parts: list[CoursePart]) -> list[CoursePart]:
    """Return what is wrong in the settings and in the notes."""
    written = {part.path for part in parts if part.state == "written"}
    found = []
    if str(folder / CONFIG_NAME) not in written:
        try:
            load_project(folder / "-")
        except ConfigError as error:
            found.append(CoursePart(str(folder / CONFIG_NAME), "lacks", str(error)))
    settings = project_file(folder)
    for one in check_project(folder) if with_quarto and settings else ():
        is_new = one.what == "extension" and str(extension_place(folder)) in written
        if not (one.ok or is_new or one.what == ".gitignore"):
            found.append(CoursePart(str(settings), "lacks", f"{one.what}: {one.found}", one.paste))
    return found
