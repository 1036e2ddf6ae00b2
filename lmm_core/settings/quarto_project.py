"""Read the settings of a Quarto project: `_quarto.yml` with all that Quarto merges into it, and what
folders and documents add for a page.

Our scripts have to see the same settings as the pages, so the rules are those of Quarto's source:
`src/project/project-context.ts`, `project-profile.ts`, `project-shared.ts` and
`src/command/render/render-contexts.ts`. Asking `quarto inspect` instead takes two seconds for each page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import QuartoError
from ..markdown.metadata.body import parse_metadata
from ..markdown.visibility import KnitRules, header_rules, project_rules
from .project import Project

PROJECT_FILES = ("_quarto.yml", "_quarto.yaml")
_LOCAL_FILES = ("_quarto.yml.local", "_quarto.yaml.local")
_FOLDER_FILES = ("_metadata.yml", "_metadata.yaml")
_OF_PROJECT = ("project", "profile", "book", "website", "manuscript")  # keys that hold for the project as a whole


# The project


def project_file(folder: Path) -> Path | None:
    """Return the `_quarto.yml` of a folder, or None."""
    return _first(folder, PROJECT_FILES)


def read_project(folder: Path) -> dict[str, Any]:
    """Return the settings of `_quarto.yml`, with those of the files that it names, of the active
    profiles and of `_quarto.yml.local` merged over them; {} if there is no `_quarto.yml`. Raise
    QuartoError if a file cannot be read."""
    file = project_file(folder)
    if file is None:
        return {}
    found = read_yaml(file)
    found = with_named(found, folder)
    profiles = _profiles(found.pop("profile", None))
    over = [_first(folder, (f"_quarto-{name}.yml", f"_quarto-{name}.yaml")) for name in reversed(profiles)]
    for layer in (*over, _first(folder, _LOCAL_FILES)):
        found = merged(found, read_yaml(layer)) if layer else found
    of_pages = with_named(found, folder)  # files that profiles name change pages, but not the project
    return of_pages | {key: found[key] for key in _OF_PROJECT if key in found}


def quarto_language(folder: Path) -> str:
    """Return the `lang` of Quarto's project in a folder, or "" if there is none, or it cannot be read."""
    try:
        return str(read_project(folder).get("lang") or "")
    except QuartoError:  # who reads the project for more reports it
        return ""


def with_quarto_rules(project: Project) -> Project:
    """Return the project with the rules of `_quarto.yml` on what is left out of the notes. Raise
    QuartoError if a file cannot be read."""
    return replace(project, rules=project_rules(read_project(project.root), project.rules))


def active_profiles() -> list[str]:
    """Return the active profiles, as Quarto tells them to its scripts."""
    return os.environ.get("QUARTO_PROFILE", "").replace(",", " ").split()


def _profiles(declared: Any) -> list[str]:
    """Return the active profiles, the most important one first: those that the person names, else the default; and
    one of each group. declared: what `_quarto.yml` says of profiles.

    Quarto itself looks for a default in `_environment` and `_quarto.yml.local`, too; it tells its scripts what it
    chose, and other commands have to be told by QUARTO_PROFILE."""
    declared = declared if isinstance(declared, dict) else {}
    profiles = active_profiles() or _names(declared.get("default"))
    for group in _groups(declared.get("group")):
        profiles = profiles if set(group) & set(profiles) else [*profiles, group[0]]
    return profiles


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(name) for name in value]
    return value.replace(",", " ").split() if isinstance(value, str) else []


def _groups(value: Any) -> list[list[str]]:
    groups = value if isinstance(value, list) else []
    if all(isinstance(name, str) for name in groups):
        groups = [groups]
    return [list(map(str, group)) for group in groups if isinstance(group, list) and group]


# A page


def folder_settings(path: Path, folder: Path) -> dict[str, Any]:
    """Return the settings that the `_metadata.yml` files of its folders give a document of the project
    in `folder`. The file in `folder` itself counts only for documents right in it. Raise QuartoError
    if a file cannot be read."""
    found: dict[str, Any] = {}
    for file in folder_files(path, folder):
        found = merged(found, with_named(read_yaml(file), file.parent))
    return found


def folder_files(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the `_metadata.yml` files of the folders that a document lies in, the outermost first."""
    path, folder = path.absolute(), folder.absolute()
    if not path.is_relative_to(folder):
        return
    inside = path.parent.relative_to(folder).parts or ("",)
    for depth in range(1, len(inside) + 1):
        if file := _first(folder.joinpath(*inside[:depth]), _FOLDER_FILES):
            yield file


def page_settings(path: Path, header: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of one document: the project's, with those of the document's folders and
    of its header merged over them. Raise QuartoError if a file cannot be read."""
    quarto = quarto_folder(path)
    if quarto is None:
        return merged(settings, header)
    return merged(merged(settings, folder_settings(path, quarto)), with_named(header, path.parent))


def page_rules(path: Path, header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return the rules for one document: the project's, with those of the `_metadata.yml` files of its
    folders and of its header. Raise QuartoError if a file cannot be read."""
    quarto = quarto_folder(path)
    if quarto is None:
        return header_rules(header, rules)
    return header_rules(with_named(header, path.parent), project_rules(folder_settings(path, quarto), rules))


def quarto_folder(path: Path) -> Path | None:
    """Return the nearest folder around a document that is a Quarto project."""
    return next((folder for folder in path.absolute().parents if project_file(folder)), None)


# Values


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else []."""
    return value if isinstance(value, list) else []


def mapping_in(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the value of a key if it is a mapping, else {}."""
    found = settings.get(key)
    return found if isinstance(found, dict) else {}


# Files and merging


def with_named(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings with those of the files that they name in `metadata-file` and `metadata-files`
    merged over them. Missing files are skipped. Raise QuartoError if a file cannot be read."""
    listed = settings.get("metadata-files")
    names = [settings.get("metadata-file"), *(listed if isinstance(listed, list) else [])]
    found = dict(settings)
    for name in names:
        file = folder / name.lstrip("/") if isinstance(name, str) and name else None
        if file is not None and file.is_file():
            found = merged(found, read_yaml(file))
    return {key: value for key, value in found.items() if key not in ("metadata-file", "metadata-files")}


def merged(one: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return two settings merged as Quarto does it: mappings by key, lists one after the other, each
    value once. A single value beside a list counts as a list of one."""
    made = dict(one)
    for key, value in over.items():
        old = made.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            made[key] = merged(old, value)
        elif isinstance(old, list) or isinstance(value, list):
            made[key] = _joined(old, value)
        else:
            made[key] = value
    return made


def _joined(one: Any, over: Any) -> Any:
    if not one or not over:
        return over or one
    values = [item for value in (one, over) for item in (value if isinstance(value, list) else [value])]
    keys = [json.dumps(item, sort_keys=True, default=str) for item in values]
    return [item for at, item in enumerate(values) if keys[at] not in keys[:at]]


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_yaml(file: Path) -> dict[str, Any]:
    """Return the mapping that a YAML file holds; {} if it is empty. Raise QuartoError if it cannot be
    read, or holds no mapping."""
    text = _read_text(file)
    try:
        found = parse_metadata(text)  # PyYAML alone refuses tags such as R's `!expr`
    except ValueError as error:
        raise QuartoError(f"{file}: cannot be read: {error}") from None
    if found.error:
        raise QuartoError(f"{file}:{found.error_line + 1}: cannot be read: {' '.join(found.error.split())}")
    if found.content is None and any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise QuartoError(f"{file}: should be a mapping")
    return found.content or {}


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise QuartoError(f"{file}: cannot be read: {error}") from None
