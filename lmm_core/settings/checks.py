"""Check settings beyond types: models, sources, and places named by an untrusted file."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import FolderError, ModelError
from ..files.marked import check_inside
from ..models.names import is_default, leads_outside, parse_name
from ..models.sources import FASTEMBED, NONE, STAND_IN, ModelSource, known_sources
from .environment import MODEL_KEYS
from .layers import Layers

_RESERVED = (STAND_IN, FASTEMBED, NONE, "default")


def check_settings(layers: Layers) -> None:
    """Add problems beyond types to the layers."""
    _check_models(layers)
    _check_sources(layers)
    _check_folder(layers)


def _check_models(layers: Layers) -> None:
    known = known_sources({name: ModelSource(name, "") for name in layers.source_names()})
    for keys in MODEL_KEYS.values():
        name = layers.value(*keys)
        if isinstance(name, str) and not is_default(name):
            try:
                outside = leads_outside(parse_name(name, known), layers.file.parent)
            except ModelError as error:
                layers.report(keys, str(error))
                continue
            if outside and layers.file_behind(keys):
                layers.report(
                    keys,
                    f"should be a folder inside {layers.file.parent.resolve()}. To use one elsewhere, name it in the "
                    "environment (LMM_MODEL_EMBEDDING) or in code",
                )


def _check_sources(layers: Layers) -> None:
    for name in layers.source_names():
        if name in _RESERVED:
            layers.report(("sources", name), "this name has a meaning of its own. Choose another one")
        elif not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
            layers.report(("sources", name), "a source's name is made of letters, digits, `.`, `_` and `-`")


def _check_folder(layers: Layers) -> None:
    """Check that a file keeps the index inside its project."""
    keys = ("storage", "folder")
    folder, root = layers.value(*keys), layers.file.parent.resolve()
    if not isinstance(folder, str) or not layers.file_behind(keys):
        return
    place = Path(os.path.normpath(root / folder))
    if place == root:
        layers.report(keys, "should be a folder of its own, such as .lmm/index, not the project's folder")
        return
    try:
        check_inside(root, place)
    except (FolderError, ValueError) as error:
        layers.report(
            keys,
            f"should lie inside {root}, without links on the way ({error}). To use a folder elsewhere, name it in the "
            "environment (LMM_STORAGE__FOLDER) or in code",
        )
