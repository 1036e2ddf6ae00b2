"""Replies that arrive in parts, through the real client."""

import asyncio

import pytest

from lmm_core.errors import ModelError
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import RequestLimits, known_sources
from tests.model_server import ModelServer

REQUEST = Request((ChatMessage("user", "Hello?"),))
LONG = "One two\n\nthree — 🙂 four."


def ask(server, monkeypatch, shown, timeout=60, request=REQUEST):
    """Return the reply, and append its parts to `shown`."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    async def talk():
        model = OpenAIChat(ModelName("openai", "m"), known_sources({})["openai"], RequestLimits(timeout, max_retries=0))
        try:
            return await model.reply(request, shown.append if shown is not None else None)
        finally:
            await model.close()

    return asyncio.run(talk())


def test_the_parts_are_shown_and_make_the_whole(monkeypatch):
    shown = []
    with ModelServer(LONG) as server:
        reply = ask(server, monkeypatch, shown)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == (LONG, 100, 20)
    assert "".join(shown) == LONG
    assert len(shown) > 3
    assert [body["stream"] for body in server.requests] == [True]


def test_nothing_is_streamed_where_nobody_looks(monkeypatch):
    with ModelServer(LONG) as server:
        assert ask(server, monkeypatch, None).text == LONG
    assert "stream" not in server.requests[0]


@pytest.mark.parametrize("stream", [False, None], ids=["ignores it", "refuses it"])
def test_a_server_that_cannot_stream_still_answers(stream, monkeypatch):
    with ModelServer(LONG, stream=stream) as server:
        assert ask(server, monkeypatch, []).text == LONG


def test_a_stream_that_breaks_off_is_an_error(monkeypatch):
    with (
        ModelServer(LONG, fault=lambda body, number: "break") as server,
        pytest.raises(ModelError, match="broke off in the middle"),
    ):
        ask(server, monkeypatch, [])
    assert server.count == 1


def test_a_stream_of_which_nothing_comes_in_time(monkeypatch):
    """Some servers send the head of an answer at once, and its first words when they have some."""
    shown = []
    with (
        ModelServer(LONG, pause=1) as server,
        pytest.raises(ModelError, match=r"the server has not answered within 0\.3 s: allow it more"),
    ):
        ask(server, monkeypatch, shown, timeout=0.3)
    assert ("".join(shown), server.count) == ("", 1)


def test_a_stream_that_stalls_after_its_first_words(monkeypatch):
    shown = []
    with (
        ModelServer(LONG, fault=lambda body, number: "stall") as server,
        pytest.raises(ModelError, match="nothing more of the answer came in time"),
    ):
        ask(server, monkeypatch, shown, timeout=0.3)
    assert ("".join(shown), server.count) == ("One ", 1)


def test_a_stream_that_just_stops_is_no_answer(monkeypatch):
    with ModelServer(LONG, fault=lambda body, number: "end" if body.get("stream") else None) as server:
        assert ask(server, monkeypatch, []).text == LONG
    assert [body.get("stream") for body in server.requests] == [True, None]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("<think>\nHm, <b>one</b>?\n\nOr two. </think>\n\n" + LONG, LONG),
        (LONG + " <|im_end|>\n", LONG + " "),
    ],
)
def test_what_is_round_the_reply_is_not_shown(sent, said, monkeypatch):
    shown = []
    with ModelServer(sent) as server:
        assert ask(server, monkeypatch, shown).text == said
    assert "".join(shown) == said
    assert len(shown) > 3


def test_thoughts_without_their_first_tag_are_waited_for_once_they_are_known(monkeypatch):
    """The chat templates of some models put the tag into the prompt."""
    shown = []
    with ModelServer("Hm, one. Or two.\n</think>\n\n" + LONG) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        async def talk():
            model = OpenAIChat(ModelName("openai", "m"), known_sources({})["openai"])
            await model.reply(REQUEST)
            try:
                return await model.reply(REQUEST, shown.append)
            finally:
                await model.close()

        assert asyncio.run(talk()).text == LONG
    assert "".join(shown) == LONG
    assert len(shown) > 3


@pytest.mark.parametrize("sent", ["", " \n", "<think>Hm.</think>\n", "<think>Hm."])
def test_a_reply_that_says_nothing_is_an_error(sent, monkeypatch):
    shown = []
    with ModelServer(sent) as server, pytest.raises(ModelError, match="openai/m: the model's reply was empty"):
        ask(server, monkeypatch, shown)
    assert (server.count, "".join(shown)) == (1, "")


def test_a_model_without_tools_still_streams(monkeypatch):
    """Ollama says so of most small models."""
    shown, tool = [], {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
    request = Request(REQUEST.messages, tools=(tool,))
    refused = "registry.ollama.ai/library/gemma3:270m does not support tools"
    with ModelServer(LONG, refuses=lambda body: "tools" in body and refused) as server:
        assert ask(server, monkeypatch, shown, request=request).text == LONG
    assert len(shown) > 3
    assert ["tools" in body for body in server.requests] == [True, False]
