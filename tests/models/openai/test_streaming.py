"""Replies that arrive in parts, through the real client."""

import asyncio

import pytest

from lmm_core.errors import ModelError
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelOptions, known_sources
from tests.model_server import ModelServer

REQUEST = Request((ChatMessage("user", "Hello?"),))
LONG = "One two\n\nthree — 🙂 four."


def ask(server, monkeypatch, shown, timeout=60, request=REQUEST):
    """Return the reply, and append its parts to `shown`."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    async def talk():
        model = OpenAIChat(
            ModelName("openai", "m"), known_sources({})["openai"], ModelOptions(timeout=timeout, max_retries=0)
        )
        try:
            return await model.reply(request, shown.append)
        finally:
            await model.close()

    return asyncio.run(talk())


def test_the_parts_are_shown_and_make_the_whole(monkeypatch):
    shown = []
    with ModelServer("<think>\nHm.</think>\n\n" + LONG) as server:
        reply = ask(server, monkeypatch, shown)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == (LONG, 100, 20)
    assert "".join(shown) == LONG
    assert len(shown) > 3
    assert [body["stream"] for body in server.requests] == [True]


@pytest.mark.parametrize("stream", [False, None], ids=["ignores it", "refuses it"])
def test_a_server_that_cannot_stream_still_answers(stream, monkeypatch):
    with ModelServer(LONG, stream=stream) as server:
        assert ask(server, monkeypatch, []).text == LONG


@pytest.mark.parametrize(
    ("options", "sent", "said", "seen"),
    [
        ({"fault": lambda body, number: "break"}, LONG, "broke off in the middle", None),
        ({"fault": lambda body, number: "stall"}, LONG, "nothing more of the answer came in time", "One "),
        ({}, "<think>Hm.</think>\n", "openai/m: the model's reply was empty", ""),
    ],
    ids=["breaks", "stalls", "thinks"],
)
def test_a_stream_without_an_end_or_a_text_is_an_error(options, sent, said, seen, monkeypatch):
    shown = []
    with ModelServer(sent, **options) as server, pytest.raises(ModelError, match=said):
        ask(server, monkeypatch, shown, timeout=0.3)
    assert server.count == 1
    assert LONG.startswith("".join(shown)) if seen is None else "".join(shown) == seen


def test_a_stream_that_just_stops_is_no_answer(monkeypatch):
    with ModelServer(LONG, fault=lambda body, number: "end" if body.get("stream") else None) as server:
        assert ask(server, monkeypatch, []).text == LONG
    assert [body.get("stream") for body in server.requests] == [True, None]


def test_a_model_without_tools_still_streams(monkeypatch):
    """Ollama says so of most small models."""
    shown, tool = [], {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
    request = Request(REQUEST.messages, tools=(tool,))
    refused = "registry.ollama.ai/library/gemma3:270m does not support tools"
    with ModelServer(LONG, refuses=lambda body: "tools" in body and refused) as server:
        assert ask(server, monkeypatch, shown, request=request).text == LONG
    assert len(shown) > 3
    assert ["tools" in body for body in server.requests] == [True, False]
