"""Parse model names (`source/model`, or a folder), and choose the model of each role.

Roles: major (chats and edits), minor (annotations), aux (small tasks), embedding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..arguments import key
from ..errors import ModelError
from .sources import FASTEMBED, NONE, STAND_IN, STAND_IN_NAME, ModelSource

DEFAULT = "default"
SENTENCE_TRANSFORMERS = "sentencetransformers"
# Sources by prefix of a model's name
_MAKERS = {
    "gpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "text-embedding-": "openai",
    "claude-": "anthropic", "gemini-": "gemini", "mistral-": "mistral", "ministral-": "mistral",
    "llama": "ollama", "qwen": "ollama", "gemma": "ollama", "phi": "ollama", "deepseek": "ollama",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name, with its source in lower case."""

    source: str
    model: str

    def __str__(self) -> str:
        return f"{self.source}/{self.model}" if self.model else self.source


NO_MODEL = ModelName(NONE, "")


def parse_name(text: str, sources: Mapping[str, ModelSource]) -> ModelName:
    """Parse `OpenAI/gpt-5`, or a source alone for its default model. Raise ModelError if the source is unknown.

    LM markdown's `SentenceTransformers/all-MiniLM-L6-v2` is a fastembed model."""
    source, _, model = text.strip().partition("/")
    name = source.strip().lower()
    if name == STAND_IN:
        if model.strip().lower() not in ("", "default"):
            raise ModelError(f"{text!r}: the stand-in is called {STAND_IN_NAME}")
        return ModelName(STAND_IN, "default")
    if name == NONE and not model.strip():
        return NO_MODEL
    if name == SENTENCE_TRANSFORMERS and model.strip():
        return ModelName(FASTEMBED, f"sentence-transformers/{model.strip()}")
    if name == FASTEMBED:
        if not model.strip():
            raise ModelError(f"{text!r}: name a model, {FASTEMBED}/MODEL; `lmm models list` shows them")
        return ModelName(FASTEMBED, model.strip())
    if name not in sources:
        family = next((maker for start, maker in _MAKERS.items() if name.startswith(start)), "")
        problem = (
            f"did you mean {family}/{text.strip()}?" if family and not model else f"the source {source!r} is unknown."
        )
        raise ModelError(
            f"{text!r}: {problem} "
            f"The sources are {', '.join([*sources, FASTEMBED, STAND_IN])}. "
            "A model is named source/model; [sources.NAME] in config.toml adds a source."
        )
    return ModelName(name, model.strip())


def is_default(name: str) -> bool:
    """Return True for the name that leaves the choice to us."""
    return name.strip().lower() == DEFAULT


def local_folder(name: ModelName, root: Path) -> Path | None:
    """Return a model's folder, or None if fastembed knows it by name.

    `fastembed/./models/x` is relative to the root, `fastembed//models/x` absolute."""
    if name.source != FASTEMBED:
        return None
    if name.model.startswith(("./", "../", ".\\", "..\\")) or Path(name.model).is_absolute():
        return root / name.model
    return None


def leads_outside(name: ModelName, root: Path) -> bool:
    try:
        folder = local_folder(name, root)
        return folder is not None and not folder.resolve().is_relative_to(root.resolve())
    except (ValueError, OSError, RuntimeError):  # a NUL; links in a circle
        return True


# Roles


@dataclass(frozen=True, slots=True)
class PromptFiles:
    """Files with the writer's prompts, from the project's root: `[prompts]`."""

    questions: str = key("", "which questions a section gets (lmm rag)")
    summary: str = key("", "which summary a section gets (lmm rag)")
    chat: str = key("", "how a question in a document is answered (lmm chat)")
    edit: str = key("", "how the new version of a text is written (lmm chat)")
    answer: str = key("", "how a student's question is answered (lmm ask, lmm serve)")


ROLES = ("major", "minor", "aux", "embedding")
_ABOVE = {"minor": "major", "aux": "minor"}


def choose_model(role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]) -> ModelName:
    """Return the model for a role, from configured names by role (`default` leaves the choice to us).

    Raise ModelError if a source is unknown, or has no default model and none is named."""
    name = names.get(role, DEFAULT)
    if not is_default(name):
        chosen = _fit_for(role, parse_name(name, sources))
    elif role == "embedding":  # a key in the environment is no consent to send all notes
        return NO_MODEL
    elif role == "major":
        chosen = ModelName("openai", "") if sources["openai"].has_key else ModelName(STAND_IN, "default")
    else:
        above = choose_model(_ABOVE[role], names, sources)
        chosen = ModelName(above.source, "" if above.source in sources else above.model)
    if chosen.model or chosen == NO_MODEL:
        return chosen
    return _model_of_source(sources[chosen.source], role, names, sources)


def _fit_for(role: str, name: ModelName) -> ModelName:
    if role == "embedding":
        return NO_MODEL if name.source == STAND_IN else name
    if name.source in (FASTEMBED, NONE):
        raise ModelError(f"{name} is only for embeddings: name a model that can answer requests for {role}", stop=True)
    return name


def _model_of_source(
    source: ModelSource, role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]
) -> ModelName:
    """Return the model of a source named alone.

    Aux takes minor's model from the same source; minor takes major's if the source has no default."""
    above = _ABOVE.get(role, "")
    if above and (role == "aux" or not source.chat_model):
        other = choose_model(above, names, sources)
        if other.source == source.name:
            return other
    own = source.embedding_model if role == "embedding" else source.chat_model
    if not own:
        raise ModelError(f"{source.name} has no default model for {role}: name a model, {source.name}/MODEL")
    return ModelName(source.name, own)
