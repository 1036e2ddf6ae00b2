"""The choice of a model for each role.

The roles are major (chats and edits), minor (annotations), aux (small tasks) and embedding.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ModelError
from .names import DEFAULT, NO_MODEL, ModelName, is_default, parse_name
from .sources import FASTEMBED, NONE, STAND_IN, ModelSource

# What models are asked for, by the names of the prompts that may be in the writer's own words.
PURPOSES = {
    "questions": "which questions a section gets (lmm rag)",
    "summary": "which summary a section gets (lmm rag)",
    "annotations": "what surrounds these two",
    "chat": "how a question in a document is answered (lmm chat)",
    "edit": "how the new version of a text is written (lmm chat)",
    "queries": "how search queries are made of a student's question",
    "rerank": "how passages are graded for a question",
    "answer": "how a student's question is answered (lmm ask, lmm serve)",
    "llmd": "how the last entry of an LLMD document is answered",
}
ROLES = ("major", "minor", "aux", "embedding")
_ABOVE = {"minor": "major", "aux": "minor"}


def choose_model(role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]) -> ModelName:
    """Return the model for a role.

    names: the configured model of each role (`default` leaves the choice to us); sources: all known
    sources, including OpenAI's. Raise ModelError if a source is unknown, or if it has no default
    model and none is named."""
    name = names.get(role, DEFAULT)
    if is_default(name):
        return _default_model(role, names, sources)
    found = _fit_for(role, parse_name(name, sources))
    if found.model or found == NO_MODEL:
        return found
    return _model_of_source(sources[found.source], role, names, sources)


def _fit_for(role: str, name: ModelName) -> ModelName:
    """Return the name if the model can have the role; embeddings from the stand-in become no model.

    Raise ModelError if an embedding model would have to answer requests."""
    if role == "embedding":
        return NO_MODEL if name.source == STAND_IN else name
    if name.source in (FASTEMBED, NONE):
        raise ModelError(f"{name} is only for embeddings: name a model that can answer requests for {role}", stop=True)
    return name


def _default_model(role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]) -> ModelName:
    if role == "aux":
        return choose_model("minor", names, sources)
    if role == "minor":
        major = choose_model("major", names, sources)
        own = sources[major.source].chat_model if major.source in sources else ""
        return ModelName(major.source, own or major.model)
    if role == "embedding":  # only where it is named: a key in the environment is no consent to send all notes
        return NO_MODEL
    openai = sources["openai"]
    return ModelName("openai", _own_model(openai, role)) if openai.has_key else ModelName(STAND_IN, "default")


def _model_of_source(
    source: ModelSource, role: str, names: Mapping[str, str], sources: Mapping[str, ModelSource]
) -> ModelName:
    """Return the model for a role of which only the source is named.

    For aux it is the minor's, if that has the same source; for minor, the major's, if the source
    has no model of its own."""
    above = _ABOVE.get(role, "")
    if above and (role == "aux" or not source.chat_model):
        other = choose_model(above, names, sources)
        if other.source == source.name:
            return other
    return ModelName(source.name, _own_model(source, role))


def _own_model(source: ModelSource, role: str) -> str:
    own = source.embedding_model if role == "embedding" else source.chat_model
    if not own:
        raise ModelError(f"{source.name} has no default model for {role}: name a model, {source.name}/MODEL")
    return own
