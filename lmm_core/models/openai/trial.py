"""Try a model with one token or vector."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ...errors import CutOffError, ModelError
from ..addresses import shown_address
from ..chat import ChatMessage, Request
from ..embedders.openai_embedder import OpenAIEmbedder
from ..names import ModelName
from ..sources import ModelSource, RequestLimits, Sampling
from .chat import OpenAIChat

# Of models that think first: a valid answer
_CUT_OFF = "output limit was reached"
_REQUEST = Request((ChatMessage("user", "Say: yes"),), sampling=Sampling(max_tokens=1))


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a trial. said: a sentence without the key."""

    answered: bool
    said: str


async def try_model(name: ModelName, source: ModelSource, limits: RequestLimits, embeds: bool = False) -> Trial:
    """Request one token, or one vector of an embedding model, without retries."""
    limits, began = replace(limits, max_retries=0), time.monotonic()
    try:
        await (_embed if embeds else _complete)(name, source, limits)
    except CutOffError:
        pass  # answered with the one token
    except ModelError as error:
        if _CUT_OFF not in str(error):
            return Trial(False, str(error))
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
