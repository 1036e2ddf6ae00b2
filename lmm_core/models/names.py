"""Names of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from .sources import FASTEMBED, NONE, STAND_IN, STAND_IN_NAME, ModelSource

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class ModelName:
    """`source/model`; the source in lower case."""

    source: str
    model: str

    def __str__(self) -> str:
        return f"{self.source}/{self.model}" if self.model else self.source


NO_MODEL = ModelName(NONE, "")


def parse_name(text: str, sources: Mapping[str, ModelSource]) -> ModelName:
    """A name as people write it: `OpenAI/gpt-4o-mini`, or a source alone, which has a
    model of its own. Raises ModelError, which says what is allowed."""
    source, _, model = text.strip().partition("/")
    name = source.strip().lower()
    if name == STAND_IN:
        if model.strip().lower() not in ("", "default"):
            raise ModelError(f"{text!r}: the stand-in is {STAND_IN_NAME}")
        return ModelName(STAND_IN, "default")
    if name == NONE and not model.strip():
        return NO_MODEL
    if name == FASTEMBED:
        if not model.strip():
            raise ModelError(f"{text!r}: name a model: {FASTEMBED}/MODEL (lmm models list)")
        return ModelName(FASTEMBED, model.strip())
    if name not in sources:
        raise ModelError(
            f"{text!r}: unknown source {source!r}; known are {', '.join([*sources, FASTEMBED, STAND_IN])} "
            "(a model is named source/model; [sources.NAME] in config.toml adds a source)"
        )
    return ModelName(name, model.strip())


def is_default(name: str) -> bool:
    """Whether a name leaves the choice to LM markdown."""
    return name.strip().lower() == DEFAULT


def local_folder(name: ModelName, root: Path) -> Path | None:
    """The folder that a model is (`fastembed/./models/x` from the project's root on,
    `fastembed//models/x`); None for one that fastembed knows by its name."""
    if name.source != FASTEMBED:
        return None
    if name.model.startswith(("./", "../", ".\\", "..\\")) or Path(name.model).is_absolute():
        return root / name.model
    return None


def leads_outside(name: ModelName, root: Path) -> bool:
    """Whether a model is a folder that does not lie in the project."""
    try:
        folder = local_folder(name, root)
        return folder is not None and not folder.resolve().is_relative_to(root.resolve())
    except (ValueError, OSError, RuntimeError):  # a NUL; links in a circle
        return True
