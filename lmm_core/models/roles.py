"""Which model does what: major (chats and edits), minor (annotations), aux (small
helps), embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from .sources import FASTEMBED, NONE, STAND_IN, STAND_IN_NAME, ModelSource

ROLES = ("major", "minor", "aux", "embedding")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Requests:
    """How a model is asked: seconds for one request, further attempts after one that
    failed, requests at the same time, tokens that a chat or an edit may send."""

    timeout: float = 60.0
    max_retries: int = 2
    max_concurrency: int = 16
    context_tokens: int = 100_000


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


def choose_model(role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]) -> ModelName:
    """The model for a role. `names` says what is configured for each role, `default`
    where nothing is; `sources` are all that are known, OpenAI's among them. Raises
    ModelError where a source is unknown, or has no model of its own and none is named."""
    name = names.get(role, DEFAULT)
    if is_default(name):
        return _default_model(role, names, sources)
    found = _fit_for(role, parse_name(name, sources))
    if found.model or found == NO_MODEL:
        return found
    return ModelName(found.source, _own_model(sources[found.source], role))


def _fit_for(role: str, name: ModelName) -> ModelName:
    """The stand-in embeds nothing, and what embeds cannot be asked. Raises ModelError."""
    if role == "embedding":
        return NO_MODEL if name.source == STAND_IN else name
    if name.source in (FASTEMBED, NONE):
        raise ModelError(f"{name} is for embeddings alone: name a model that can be asked for {role}", stop=True)
    return name


def _default_model(role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]) -> ModelName:
    if role == "aux":
        return choose_model("minor", names, sources)
    if role == "minor":
        major = choose_model("major", names, sources)
        own = sources[major.source].chat_model if major.source in sources else ""
        return ModelName(major.source, own or major.model)
    openai = sources["openai"]
    if openai.has_key:
        return ModelName("openai", _own_model(openai, role))
    return _model_of_this_machine() if role == "embedding" else ModelName(STAND_IN, "default")


def _model_of_this_machine() -> ModelName:
    from .embedders.fastembed_embedder import newest_model

    name = newest_model()
    return ModelName(FASTEMBED, name) if name else NO_MODEL


def _own_model(source: ModelSource, role: str) -> str:
    own = source.embedding_model if role == "embedding" else source.chat_model
    if not own:
        raise ModelError(f"{source.name} has no model of its own for {role}: name a model: {source.name}/MODEL")
    return own


# Models that are folders


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
