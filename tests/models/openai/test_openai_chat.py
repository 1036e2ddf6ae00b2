"""Chat models over the OpenAI protocol: the real client, with a server on loopback."""

import asyncio
import json

import pytest

from lmm_core.errors import ModelError
from lmm_core.models.chat import ChatMessage, Reply, Request, Usage, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelOptions, ModelSource, known_sources
from tests.model_server import ModelServer, completion

KEY = "sk-secret-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def asked(text="What is a mean?", schema=None):
    return Request((ChatMessage("user", text),), schema)


def chat_at(url, variable="TEST_API_KEY", **limits):
    limits = {"timeout": 10, "max_retries": 0} | limits
    return OpenAIChat(ModelName("test", "m"), ModelSource("test", url, variable), ModelOptions(**limits))


def answers(chat, *requests):
    """Return the replies to simultaneous requests, or the errors in their place."""

    async def ask():
        try:
            return await asyncio.gather(*map(chat.reply, requests), return_exceptions=True)
        finally:
            await chat.close()

    return run(ask())


def error_of(server, *requests, **limits):
    """Return the error that a server's answer becomes."""
    [error] = answers(chat_at(server.url, **limits), *(requests or [asked()]))
    assert isinstance(error, ModelError)
    return error


# Replies


def test_a_reply_and_what_it_cost():
    with ModelServer(reply="A mean is a sum by a number.") as server:
        chat = chat_at(server.url)
        assert answers(chat, asked()) == [Reply("A mean is a sum by a number.", 100, 20)]
    assert chat.usage == Usage(1, 100, 20, 0)
    assert server.keys == [f"Bearer {KEY}"]
    messages = [{"role": "user", "content": "What is a mean?"}]
    assert server.requests == [{"model": "m", "messages": messages, "max_tokens": 2000}]


def test_no_more_requests_at_once_than_allowed():
    with ModelServer(delay=0.03) as server:
        answers(chat_at(server.url, max_concurrency=3), *[asked(str(number)) for number in range(12)])
    assert server.count == 12
    assert 1 < server.most_at_once <= 3


# Replies by a schema


def test_a_server_without_schemas_is_asked_in_words_from_then_on():
    def fault(body, number):
        return 400 if "response_format" in body else None

    with ModelServer(fault=fault) as server:
        chat = chat_at(server.url)
        for _ in range(2):
            assert isinstance(answers(chat, asked(schema=SCHEMA))[0], Reply)
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    assert [body.get("response_format") for body in server.requests] == [wanted, None, None]
    assert chat.usage.requests == 2


# What the model's context has no room for, in the words of OpenAI and Mistral
TOO_LONG = [
    {"message": "Your input exceeds the limit of this model.", "type": "invalid_request_error", "param": "messages",
     "code": "context_length_exceeded"},
    {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "code": "3051"},
]  # fmt: skip


@pytest.mark.parametrize("said", TOO_LONG, ids=lambda said: said["message"][:12])
def test_a_request_that_is_too_long_is_sent_once_and_the_setting_is_named(said):
    with ModelServer() as server:
        server.answer = lambda body, key: server.requests.append(body) or (400, json.dumps({"error": said}).encode())
        chat = chat_at(server.url)
        parts = []
        [error] = answers(chat, asked(schema=SCHEMA))
        with pytest.raises(ModelError, match="too long for the model"):
            run(chat.reply(asked(), parts.append))
    assert str(error).startswith(f"test/m: the request is too long for the model ({said['message']}): send less")
    assert "context_tokens under [major] in config.toml" in str(error)
    assert (server.count, parts, error.stop) == (2, [], False)


# Errors


@pytest.mark.parametrize(
    ("status", "data", "said", "stop"),
    [
        (400, {"error": {"message": f"who is {KEY}?\nWho?"}}, "error 400: who is (key)? Who?", False),
        (404, {}, "there is no such model or address at ", True),
        (429, {"error": {"message": "No", "code": "insufficient_quota"}}, "the server reports error 429: No", True),
        (500, [1], "the server reports error 500: ", False),
    ],
)
def test_the_servers_sentence_is_shown(status, data, said, stop):
    with ModelServer() as server:
        server.answer = lambda body, key: (status, json.dumps(data).encode())
        error = error_of(server)
    assert said in str(error)
    assert error.stop == stop
    assert "sk-" not in str(error) and len(str(error)) < 350


def test_after_a_refused_key_nothing_more_is_asked():
    with ModelServer(fault=lambda body, number: 401) as server:
        chat = chat_at(server.url)
        errors = answers(chat, *[asked(str(number)) for number in range(30)])
        sent = server.count
        with pytest.raises(ModelError):
            asyncio.run(chat.reply(asked()))
    assert sent == server.count <= 16
    assert {str(error) for error in errors} == {"test/m: the server refuses the key (401): check $TEST_API_KEY"}


# Errors of one request


@pytest.mark.parametrize(("status", "failures"), [(429, 2), (500, 9)])
def test_the_client_tries_again(status, failures):
    with ModelServer(reply="yes", fault=lambda body, number: status if number < failures else None) as server:
        [reply] = answers(chat_at(server.url, max_retries=2), asked())
    assert server.count == 3
    assert reply.text == "yes" if failures == 2 else "reports error 500" in str(reply)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (completion({"model": "m"}, None, refusal=f"no {KEY}"), "the model refused: no (key)"),
        (b'{"error": "model is loading"}', "model is loading"),
        (b"not JSON", "the reply does not follow the OpenAI protocol (JSONDecodeError)"),
        (
            completion({"model": "m"}, "Hm.</think>"),
            "the model's reply was empty: it sent nothing but its thoughts",
        ),
    ],
)
def test_a_reply_that_is_none(body, error):
    with ModelServer(reply=body) as server:
        found = error_of(server)
    assert str(found).startswith(f"test/m: {error}")
    assert not found.stop


# Keys: where they go is in tests/attacks/test_keys.py


def test_a_key_that_is_none_is_refused_before_any_request(monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-one\nsk-two")
    with pytest.raises(ModelError, match="holds characters that no key has") as error:
        OpenAIChat(ModelName("mistral", "small"), known_sources()["mistral"])
    assert error.value.stop
    assert "MISTRAL_API_KEY" in str(error.value) and "sk-" not in str(error.value)
