"""Ask a model once, for one token or one vector, to see whether it can be asked."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ...errors import CutOffError, ModelError
from ..addresses import shown_address
from ..chat import ChatMessage, Request
from ..embedders.openai_embedder import OpenAIEmbedder
from ..names import ModelName
from ..sources import ModelSource, RequestLimits, Sampling
from .chat import OpenAIChat
from .client import open_client, without_key
from .completions import text_in, value_at

MOST_NAMES = 8  # of the models that a server lists
_UNKNOWN = ("error 400", "(404)")  # in what is said of a model that a server may not know
# Models that think before they answer say this when one token is too little; so they have been asked.
_CUT_OFF = "output limit was reached"
_REQUEST = Request((ChatMessage("user", "Say: yes"),), sampling=Sampling(max_tokens=1))


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of asking a model once. said: a sentence without the key."""

    answered: bool
    said: str


async def try_model(name: ModelName, source: ModelSource, limits: RequestLimits, embeds: bool = False) -> Trial:
    """Ask a model for one token, or an embedding model for one vector, without repeating what fails."""
    limits, began = replace(limits, max_retries=0), time.monotonic()
    try:
        await (_embed if embeds else _complete)(name, source, limits)
    except CutOffError:
        pass  # it has answered, with the one token
    except ModelError as error:
        if _CUT_OFF not in str(error):
            listed = await _listed(name, source, limits) if any(said in str(error) for said in _UNKNOWN) else ""
            return Trial(False, f"{error}{listed}")
    return Trial(True, f"{name}: answered in {time.monotonic() - began:.1f} s at {shown_address(source.base_url)}")


async def _embed(name: ModelName, source: ModelSource, limits: RequestLimits) -> None:
    model = OpenAIEmbedder(name, source, limits)
    try:
        await model.embed(["one"])
    finally:
        await model.close()


async def _complete(name: ModelName, source: ModelSource, limits: RequestLimits) -> None:
    model = OpenAIChat(name, source, limits)
    try:
        await model.reply(_REQUEST)
    finally:
        await model.close()


async def _listed(name: ModelName, source: ModelSource, limits: RequestLimits) -> str:
    """Return the models that a server lists, the nearest first, to be added to why it does not know one; or ""."""
    import openai

    try:
        async with open_client(source, source.key(), limits) as client:
            data = value_at(json.loads(await client.get("/models", cast_to=bytes)), "data")
    except (openai.APIError, ModelError, ValueError, RecursionError):
        return ""
    names = [text_in(value_at(item, "id")) for item in data] if isinstance(data, list) else []
    known = [without_key(listed, source.key()) for listed in names if listed]
    if not known or name.model in known:
        return ""
    near = get_close_matches(name.model, known, MOST_NAMES, cutoff=0.4)
    shown = [*near, *(listed for listed in known if listed not in near)][:MOST_NAMES]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"; the server lists {', '.join(shown)}{more}"
