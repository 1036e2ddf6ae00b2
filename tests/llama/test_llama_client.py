"""The client of chat models, and a real model that answers it: schemas, parts, limits, time-outs, tokens."""

import asyncio
import json
import time

import pytest

from lmm_core.cli.doctor import try_model
from lmm_core.errors import CutOffError, ModelError
from lmm_core.models.chat import ChatMessage, Request, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelSource, RequestLimits, Sampling
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


def asked(text="What is a residual? A residual is", schema=None, max_tokens=24, **sampling):
    return Request((ChatMessage("user", text),), schema, max_tokens=max_tokens, sampling=Sampling(**sampling))


def chat_at(server, **limits):
    limits = {"timeout": 300, "max_retries": 0} | limits
    return OpenAIChat(ModelName("test", NAME), ModelSource("test", server.url), RequestLimits(**limits))


async def reply_of(chat, request, show=None):
    try:
        return await chat.reply(request, show)
    finally:
        await chat.close()


def cut_off(chat, request, show=None):
    """What there is of a reply that ends at its limit."""
    with pytest.raises(CutOffError) as error:
        run(reply_of(chat, request, show))
    return error.value


def test_one_token_is_asked_for(server):
    trial = run(try_model(ModelName("test", NAME), ModelSource("test", server.url), RequestLimits(timeout=SOON)))
    assert trial.answered and trial.said.startswith(f"test/{NAME}: answered in ")


def test_a_reply_follows_its_schema(server):
    """The server turns the schema into a grammar; without one, this model writes no JSON."""
    reply = run(reply_of(chat_at(server), asked("The numbers are 3 and 4. Reply with one JSON object.", SCHEMA, 60)))
    said = json.loads(reply.text)
    assert list(said) == ["kind", "numbers"]
    assert said["kind"] in ("definition", "example", "exercise")
    assert 2 <= len(said["numbers"]) <= 3


def test_a_reply_comes_in_parts_and_ends_at_its_limit(server):
    chat, before, parts, times = chat_at(server), server.tokens, [], []

    def show(part):
        parts.append(part)
        times.append(time.monotonic())

    error = cut_off(chat, asked(ENDLESS, max_tokens=20), show)
    assert "max_tokens" in str(error)
    assert "".join(parts) == error.text != ""
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


@pytest.mark.parametrize(("schema", "show"), [(None, lambda part: None), (SCHEMA, None)], ids=["in parts", "schema"])
def test_a_request_that_the_context_has_no_room_for(server, show, schema):
    with pytest.raises(ModelError) as error:
        run(reply_of(chat_at(server), asked("word " * CONTEXT, schema), show))
    said = str(error.value)
    assert "too long for the model" in said and f"({CONTEXT} tokens)" in said  # the server's own words, too
    assert "context_tokens under [major] in config.toml" in said
    assert not error.value.stop


def test_a_reply_that_fills_the_context_ends(small_server):
    """The prompt fits, and the reply does not: the server ends it, long before its limit."""
    chat = chat_at(small_server)
    error = cut_off(chat, asked("residual model fit " * 60, max_tokens=500))
    assert "context" in str(error)
    assert 180 < chat.usage.tokens_in < 256 == chat.usage.tokens_in + chat.usage.tokens_out
