"""Read Quarto's settings of a project, and of folders and documents in it.

Scripts must see the same settings as Quarto, so the rules follow its source:
`src/project/project-context.ts`, `project-profile.ts`, `project-shared.ts` and
`src/command/render/render-contexts.ts`. (`quarto inspect` would take two seconds for each page.)
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
from ..markdown.visibility import KnitRules, header_rules, project_rules, words_of
from .project import Project, load_project

PROJECT_FILES = ("_quarto.yml", "_quarto.yaml")
_LOCAL_FILES = ("_quarto.yml.local", "_quarto.yaml.local")
_FOLDER_FILES = ("_metadata.yml", "_metadata.yaml")
_OF_PROJECT = ("project", "profile", "book", "website", "manuscript")  # keys that are not for single pages


# The project


def project_file(folder: Path) -> Path | None:
    """Return a folder's `_quarto.yml`, or None."""
    return _first(folder, PROJECT_FILES)


def read_project(folder: Path) -> dict[str, Any]:
    """Return a Quarto project's settings, or {} without a `_quarto.yml`. Raise QuartoError.

    `_quarto.yml` is merged with the files that it names, the active profiles' files, and `_quarto.yml.local`."""
    file = project_file(folder)
    if file is None:
        return {}
    settings = with_named(read_yaml(file), folder)
    profiles = _profiles(settings.pop("profile", None))
    layers = [_first(folder, (f"_quarto-{name}.yml", f"_quarto-{name}.yaml")) for name in reversed(profiles)]
    for layer in (*layers, _first(folder, _LOCAL_FILES)):
        settings = merged(settings, read_yaml(layer)) if layer else settings
    of_pages = with_named(settings, folder)  # files named by profiles change pages, not the project
    return of_pages | {key: settings[key] for key in _OF_PROJECT if key in settings}


def quarto_settings(folder: Path) -> dict[str, Any]:
    """Return `read_project`, or {} if it cannot be read."""
    try:
        return read_project(folder)
    except QuartoError:  # reported where all settings are needed
        return {}


def quarto_language(folder: Path) -> str:
    """Return the `lang` of a folder's `_quarto.yml`, or ""."""
    return str(quarto_settings(folder).get("lang") or "")


def load_quarto_project(folder: Path) -> Project:
    """Return a folder's project, with its `_quarto.yml`. Raise ConfigError and QuartoError."""
    return with_quarto(load_project(folder / "-"), folder)


def with_quarto(project: Project, folder: Path | None = None) -> Project:
    """Return the project with the settings and knit rules of the `_quarto.yml` in a folder, by default its root.

    Raise QuartoError."""
    settings = read_project(folder or project.root)
    return replace(project, rules=project_rules(settings, project.rules), quarto=settings)


def active_profiles() -> list[str]:
    """Return the active profiles that Quarto passes to scripts."""
    return words_of(os.environ.get("QUARTO_PROFILE"))


def _profiles(declared: Any) -> list[str]:
    """Return the active profiles, most important first: the user's choice or the `declared` default, one of each group.

    Quarto also reads a default from `_environment` and `_quarto.yml.local`, and passes the result to scripts; other
    commands need QUARTO_PROFILE."""
    declared = declared if isinstance(declared, dict) else {}
    profiles = active_profiles() or words_of(declared.get("default"))
    groups = as_list(declared.get("group"))
    for group in [group for group in groups if isinstance(group, list)] or [groups]:
        names = [str(name) for name in group]
        profiles = profiles if set(names) & set(profiles) else [*profiles, *names[:1]]
    return profiles


# A page


def folder_settings(path: Path, folder: Path) -> dict[str, Any]:
    """Return the merged `_metadata.yml` files of a document's folders. Raise QuartoError.

    The file in the root applies only to documents directly in it."""
    settings: dict[str, Any] = {}
    for file in folder_files(path, folder):
        settings = merged(settings, with_named(read_yaml(file), file.parent))
    return settings


def folder_files(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the `_metadata.yml` files of a document's folders, the outermost first."""
    path, folder = path.absolute(), folder.absolute()
    if not path.is_relative_to(folder):
        return
    inside = path.parent.relative_to(folder).parts or ("",)
    for depth in range(1, len(inside) + 1):
        if file := _first(folder.joinpath(*inside[:depth]), _FOLDER_FILES):
            yield file


def page_settings(path: Path, header: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document's settings, merged from project, folders and header. Raise QuartoError."""
    of_folders, own = _page_layers(path, header)
    return merged(merged(settings, of_folders), own)


def page_rules(path: Path, header: Mapping[str, Any], rules: KnitRules) -> KnitRules:
    """Return a document's knit rules, from project, folders and header. Raise QuartoError."""
    of_folders, own = _page_layers(path, header)
    return header_rules(own, project_rules(of_folders, rules))


def _page_layers(path: Path, header: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the settings of a document's folders, and its header with named files; outside Quarto, the bare header."""
    quarto = quarto_folder(path)
    return (folder_settings(path, quarto), with_named(header, path.parent)) if quarto else ({}, header)


def quarto_folder(path: Path) -> Path | None:
    """Return the folder of the nearest Quarto project around a path, or None."""
    return next((folder for folder in path.absolute().parents if project_file(folder)), None)


# Values


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else []."""
    return value if isinstance(value, list) else []


def mapping_in(settings: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a key's value if it is a mapping, else {}."""
    value = settings.get(key)
    return value if isinstance(value, dict) else {}


# Files and merging


def with_named(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings with the files in `metadata-file` and `metadata-files` merged over them, if they exist.

    Raise QuartoError."""
    files = settings.get("metadata-files")
    names = [settings.get("metadata-file"), *(files if isinstance(files, list) else [])]
    result = dict(settings)
    for name in names:
        file = folder / name.lstrip("/") if isinstance(name, str) and name else None
        if file is not None and file.is_file():
            result = merged(result, read_yaml(file))
    return {key: value for key, value in result.items() if key not in ("metadata-file", "metadata-files")}


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings merged as Quarto does: mappings by key, and lists joined without duplicates; a single value is
    joined to a list, too."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merged(old, value)
        elif isinstance(old, list) or isinstance(value, list):
            result[key] = _join_values(old, value)
        else:
            result[key] = value
    return result


def _join_values(base: Any, over: Any) -> Any:
    if not base or not over:
        return over or base
    values = [item for value in (base, over) for item in (value if isinstance(value, list) else [value])]
    keys = [json.dumps(item, sort_keys=True, default=str) for item in values]
    return [item for at, item in enumerate(values) if keys[at] not in keys[:at]]


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    paths = (os.path.join(folder, name) for name in names)  # noqa: PTH118 (for every page; `Path` takes twice as long)
    return next((Path(path) for path in paths if os.path.isfile(path)), None)  # noqa: PTH113


def read_yaml(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, {} if empty. Raise QuartoError if it is unreadable."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise QuartoError(f"{file}: cannot be read: {error}") from None
    metadata = parse_metadata(text)  # PyYAML alone refuses tags such as R's `!expr`
    if metadata.error:
        raise QuartoError(f"{file}:{metadata.error_line + 1}: cannot be read: {' '.join(metadata.error.split())}")
    lines = [line.strip() for line in text.splitlines()]
    if metadata.content is None and any(line and not line.startswith("#") for line in lines):
        raise QuartoError(f"{file}: should be a mapping")
    return metadata.content or {}
