"""The client of chat models, and a real model that answers it: schemas, parts, limits, time-outs, tokens."""

import asyncio
import json
import time

import pytest

from lmm_core.errors import CutOffError, ModelError
from lmm_core.models.chat import ChatMessage, Request, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelOptions, ModelSource
from tests.llama_server import CONTEXT, NAME, SOON

pytestmark = pytest.mark.model
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["definition", "example", "exercise"]},
        "numbers": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 3},
    },
    "required": ["kind", "numbers"],
    "additionalProperties": False,
}  # fmt: skip
ENDLESS = "Count from one to ten thousand, in words: one, two, three, four, five, six, seven, eight, nine, ten,"


def asked(text, schema=None, max_tokens=24):
    return Request((ChatMessage("user", text),), schema, max_tokens=max_tokens)


def chat_at(server, timeout=300):
    limits = ModelOptions(timeout=timeout, max_retries=0)
    return OpenAIChat(ModelName("test", NAME), ModelSource("test", server.url), limits)


async def reply_of(chat, request, show=None):
    try:
        return await chat.reply(request, show)
    finally:
        await chat.close()


def test_a_reply_follows_its_schema(server):
    """The server turns the schema into a grammar; without one, this model writes no JSON."""
    reply = run(reply_of(chat_at(server), asked("The numbers are 3 and 4. Reply with one JSON object.", SCHEMA, 60)))
    content = json.loads(reply.text)
    assert list(content) == ["kind", "numbers"]
    assert content["kind"] in ("definition", "example", "exercise")
    assert 2 <= len(content["numbers"]) <= 3


def test_a_reply_comes_in_parts_and_ends_at_its_limit(server):
    chat, before, parts, times = chat_at(server), server.tokens, [], []

    def show(part):
        parts.append(part)
        times.append(time.monotonic())

    with pytest.raises(CutOffError, match="max_tokens") as error:
        run(reply_of(chat, asked(ENDLESS, max_tokens=20), show))
    assert "".join(parts) == error.value.text != ""
    assert len([part for part in parts if part]) > 8
    assert times[-1] - times[0] > 0.1  # they did not all come at the end
    assert chat.usage.tokens_in == server.size_of(ENDLESS)
    assert chat.usage.tokens_out == server.tokens[1] - before[1] == 20


@pytest.mark.parametrize("show", [None, lambda part: None], ids=["whole", "in parts"])
def test_after_a_time_out_the_server_stops_computing(server, show):
    """Of a reply in parts, the first has to come in time: the text before it is long."""
    request = asked("residual and model, " * 100 + ENDLESS, max_tokens=900)
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"has not answered within 0.4 s: .*\(timeout in config.toml\)"):
        run(reply_of(chat_at(server, timeout=0.4), request, show))
    assert time.monotonic() - began < SOON
    assert server.is_idle_within(SOON)


def test_a_reply_that_nobody_waits_for_is_not_computed(server):
    async def cancelled():
        heard = asyncio.Event()
        chat = chat_at(server)
        task = asyncio.ensure_future(chat.reply(asked(ENDLESS, max_tokens=900), lambda part: heard.set()))
        await heard.wait()
        assert server.is_busy
        task.cancel()
        await asyncio.wait([task])
        await chat.close()

    run(cancelled())
    assert server.is_idle_within(SOON)


def test_a_request_that_the_context_has_no_room_for(server):
    with pytest.raises(ModelError) as error:
        run(reply_of(chat_at(server), asked("word " * CONTEXT)))
    message = str(error.value)
    assert "too long for the model" in message and f"({CONTEXT} tokens)" in message  # the server's own words, too
    assert "context_tokens under [major] in config.toml" in message
    assert not error.value.stop
