"""Models as the configuration names them, for the REPL and for passes of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..models.annotators.annotator import Annotator
from ..models.chat import Asker
from ..models.embedders.embedder import Embedder
from ..settings.arguments import validated
from ..settings.project import Project, load_project
from .models import Models


def _project(path: str | Path | None) -> Project:
    return load_project(Path(path) if path is not None else None)


@validated
def chat_model_from_config(role: Literal["major", "minor", "aux"] = "major", path: str | Path | None = None) -> Asker:
    """The chat model for a role (`major`, `minor`, `aux`), as the configuration of a
    file's project (of the working folder) names it. Ask it with `ask`, or many times at
    once with `asyncio.gather`; `close` it. Raises ConfigError and ModelError."""
    return Models().asker(_project(path), role)


@validated
def annotator_from_config(path: str | Path | None = None) -> Annotator:
    """What annotates a file, as its configuration names it. Raises ConfigError and
    ModelError."""
    return Models().annotator(_project(path))


@validated
def embedder_from_config(path: str | Path | None = None) -> Embedder | None:
    """The embedding model of a file's project (of the working folder), None where there
    is none and texts are found by their words alone. Raises ConfigError and ModelError."""
    return Models().embedder(_project(path))
