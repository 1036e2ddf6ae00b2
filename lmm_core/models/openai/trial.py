"""Ask a model once, for one token or one vector, to see whether it can be asked."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ..addresses import shown_address
from ..chat import ChatMessage, Request
from ..names import ModelName
from ..sources import ModelSource, RequestLimits, Sampling
from .client import explain, open_client, require_key, said_in, without_key
from .completions import PATH, first_item, message_data, no_choices, text_in, value_at
from .parameters import Parameters

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

EMBEDDINGS = "/embeddings"
MOST_NAMES = 8  # of the models that a server lists
# Models that think before they answer say this when one token is too little; so they have been asked.
_CUT_OFF = "output limit was reached"


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of asking a model once. said: a sentence without the key."""

    answered: bool
    said: str


async def try_model(name: ModelName, source: ModelSource, limits: RequestLimits, embeds: bool = False) -> Trial:
    """Ask a model for one token, or an embedding model for one vector, without repeating what fails."""
    import openai

    try:
        key = require_key(name, source)
        client = open_client(source, key, replace(limits, max_retries=0))
    except ModelError as error:
        return Trial(False, str(error))
    try:
        async with client:
            return await _try(client, name, source, embeds)
    except openai.APIError as error:
        return Trial(False, str(explain(error, str(name), source, key, limits.timeout, answered=False)))
    except ModelError as error:
        return Trial(False, str(error))
    except (ValueError, RecursionError) as error:  # the body is not JSON
        return Trial(False, f"{name}: the reply does not follow the OpenAI protocol ({type(error).__name__})")


async def _try(client: AsyncOpenAI, name: ModelName, source: ModelSource, embeds: bool) -> Trial:
    import openai

    began = time.monotonic()
    try:
        reply = await (_embed if embeds else _complete)(client, name.model)
    except (openai.BadRequestError, openai.NotFoundError) as error:
        return Trial(False, await _without_model(client, name, source, error))
    seconds = time.monotonic() - began
    if first_item(value_at(reply, "data" if embeds else "choices")) is None:
        why = "the reply does not follow the OpenAI protocol (no vectors)" if embeds else no_choices(reply)
        return Trial(False, f"{name}: {without_key(why, source.key())}")
    by = without_key(text_in(value_at(reply, "model")), source.key())
    by = f" as {by}" if by and by != name.model else ""
    return Trial(True, f"{name}: answered in {seconds:.1f} s{by} at {shown_address(source.base_url)}")


async def _embed(client: AsyncOpenAI, model: str) -> Any:
    return json.loads(await client.post(EMBEDDINGS, cast_to=bytes, body={"model": model, "input": ["one"]}))


async def _complete(client: AsyncOpenAI, model: str) -> Any:
    """Return a completion of one token, an empty one from a model that needs more to begin with."""
    import openai

    parameters = Parameters()
    request = Request((ChatMessage("user", "Say: yes"),), sampling=Sampling(max_tokens=1))
    while True:
        messages = [message_data(message) for message in request.messages]
        body = {"model": model, "messages": messages, **parameters.of(request)}
        try:
            return json.loads(await client.post(PATH, cast_to=bytes, body=body))
        except openai.BadRequestError as error:
            said = said_in(error)
            if _CUT_OFF in said:
                return {"choices": [{}]}
            refused = parameters.refused(said, str(error.param or ""), body)
            if not (refused and parameters.learn(refused, said)):
                raise


async def _without_model(client: AsyncOpenAI, name: ModelName, source: ModelSource, error: APIStatusError) -> str:
    """Return why a server does not know a model, with the models that it lists."""
    import openai

    why = str(explain(error, str(name), source, source.key(), 0, answered=False))
    try:
        listed = json.loads(await client.get("/models", cast_to=bytes))
    except (openai.APIError, ModelError, ValueError, RecursionError):
        return why
    data = value_at(listed, "data")
    known = [text_in(value_at(one, "id")) for one in data] if isinstance(data, list) else []
    known = [without_key(one, source.key()) for one in known if one]
    if not known or name.model in known:
        return why
    near = get_close_matches(name.model, known, MOST_NAMES, cutoff=0.4)
    shown = [*near, *(one for one in known if one not in near)][:MOST_NAMES]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{why}; the server lists {', '.join(shown)}{more}"
