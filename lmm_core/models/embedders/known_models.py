"""The embedding models that fastembed knows, remembered so that a list of them need not import fastembed.

Importing it takes a second. What it said is kept in the user's cache folder, with its version.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ...files.user import cache_folder
from ...files.writing import replace_file


class KnownModel(NamedTuple):
    """A model as fastembed describes it: its size in GB, and its repository on the hub."""

    name: str
    dimensions: int
    size: float
    repository: str


def known_models(ask: Callable[[], Iterable[KnownModel]]) -> list[KnownModel]:
    """Return the models that are remembered of this version of fastembed, or else what `ask` returns."""
    version, file = _version(), cache_folder() / "fastembed-models.json"
    if version and (remembered := _read(file, version)):
        return remembered
    found = list(ask())
    if version:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, json.dumps({"version": version, "models": found}).encode("utf-8"))
    return found


def _version() -> str:
    """Return the name of the folder in which pip keeps the version of fastembed, "" if it cannot be told."""
    spec = find_spec("fastembed")
    if spec is None or spec.origin is None:
        return ""
    found = [folder.name for folder in Path(spec.origin).parents[1].glob("fastembed-*.dist-info")]
    return found[0] if len(found) == 1 else ""


def _read(file: Path, version: str) -> list[KnownModel]:
    """Return the models that are remembered, [] if there are none of this version."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        kept = json.loads(file.read_bytes())
        if kept["version"] == version:
            return [
                KnownModel(str(name), int(dimensions), float(size), str(repository))
                for name, dimensions, size, repository in kept["models"]
            ]
    return []
