"""A project is remembered as its `config.toml` has made it: to import pydantic and to check the settings again takes
longer than most commands have to do.

Only what hangs on the file alone is remembered. A file that names a folder, a model or a prompt is read each time,
since what lies there may have changed; and so is every file while the environment has a say.
"""

from __future__ import annotations

import io
import os
import pickle
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.remembered import keep, program_mark, recall
from ..models.names import is_default, local_folder, parse_name
from ..models.sources import known_sources
from ..models.trust import TRUST_VARIABLE
from .names import CONFIG_NAME, MOST_BYTES, is_setting

if TYPE_CHECKING:
    from .config import ConfigSettings
    from .project import Project

KIND = "projects"
_UNUSUAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufeff]")  # which comments in TOML may not hold, or which is none
_VARIABLES = (TRUST_VARIABLE, "OPENAI_BASE_URL")  # no settings, but the settings hang on them


def read_text(file: Path) -> str | None:
    """Return the text of a `config.toml` if it alone says what a project is, else None."""
    if any(map(is_setting, os.environ)) or any(map(os.environ.get, _VARIABLES)):
        return None
    try:
        return file.read_bytes().decode("utf-8") if file.stat().st_size <= MOST_BYTES else None
    except (OSError, UnicodeDecodeError):  # told when the settings are read
        return None


def says_nothing(text: str) -> bool:
    """Return True if a `config.toml` has comments alone, as the one has that a course begins with."""
    lines = text.replace("\r\n", "\n").split("\n")
    return not any(_UNUSUAL.search(line) or line.strip(" \t")[:1] not in ("", "#") for line in lines)


def recall_project(file: Path, text: str) -> Project | None:
    """Return the project that a `config.toml` with this text has made, None if it is not known."""
    data = recall(KIND, file, *_made_of(file, text))
    if data is None:
        return None
    try:
        found: Project = _Reader(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError):
        return None
    return found if getattr(found, "root", None) == file.parent else None


def keep_project(file: Path, text: str, settings: ConfigSettings, project: Project) -> None:
    """Remember the project that a `config.toml` with this text has made, if it hangs on nothing else."""
    names_folder = project.index.folder != type(project.index)().folder
    if not (names_folder or names_local_model(project) or any(settings.prompts.model_dump().values())):
        keep(KIND, file, pickle.dumps(project), *_made_of(file, text))


def names_local_model(project: Project) -> bool:
    """Return True if a model of a project is a folder, in which may lie another one later."""
    sources = known_sources(project.sources)
    names = [parse_name(name, sources) for name in project.models.values() if not is_default(name)]
    return any(local_folder(name, project.root) for name in names)


def hangs_on_file(root: Path) -> bool:
    """Return True if the settings of a project hang on its `config.toml` alone, be there one or not."""
    file = root / CONFIG_NAME
    if not file.is_file():
        return not any(map(is_setting, os.environ))
    text = read_text(file)
    return text is not None and (says_nothing(text) or recall_project(file, text) is not None)


def _made_of(file: Path, text: str) -> tuple[bytes, ...]:
    return program_mark(), os.fsencode(file), text.encode()


class _Reader(pickle.Unpickler):
    """A reader of projects, which makes nothing but our plain values, whoever wrote the file."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith("lmm_core.") or module == "pathlib" else None
        if name == "frozenset" and module == "builtins":
            return frozenset
        if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Path)):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a project")
