"""Chat models over the OpenAI protocol: the real client, with a server on loopback."""

import asyncio
import json
import re
import socket

import pytest

from lmm_core.errors import ModelError
from lmm_core.models.chat import ChatMessage, Reply, Request, Usage, run
from lmm_core.models.embedders.openai_embedder import OpenAIEmbedder
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.sources import ModelSource, RequestLimits, known_sources
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
    return OpenAIChat(ModelName("test", "m"), ModelSource("test", url, variable), RequestLimits(**limits))


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


def body_with(message=None, **choice):
    """Return the body of a reply with another message or choice."""
    whole = json.loads(completion({"model": "m"}, "text"))
    whole["choices"][0] |= choice
    if message is not None:
        whole["choices"][0]["message"] = message
    return json.dumps(whole).encode()


# Replies


def test_a_reply_and_what_it_cost():
    with ModelServer(reply="A mean is a sum by a number.") as server:
        chat = chat_at(server.url)
        assert answers(chat, asked()) == [Reply("A mean is a sum by a number.", 100, 20)]
    assert chat.usage == Usage(1, 100, 20, 0)
    assert str(chat.usage) == "1 request, 100 + 20 tokens, 0 from cache"


def test_the_server_is_asked_as_the_protocol_has_it():
    with ModelServer() as server:
        request = Request((ChatMessage("system", "Be brief."), ChatMessage("user", "What is a mean?")))
        answers(chat_at(server.url), request)
    assert server.keys == [f"Bearer {KEY}"]
    assert server.requests == [
        {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a mean?"}],
            "max_tokens": 2000,
        }
    ]


@pytest.mark.parametrize("most", [1, 8])
def test_no_more_requests_at_once_than_allowed(most):
    with ModelServer(delay=0.03) as server:
        answers(chat_at(server.url, max_concurrency=most), *[asked(str(number)) for number in range(20)])
    assert server.count == 20
    assert server.most_at_once <= most
    assert server.most_at_once > 1 or most == 1


def test_the_address_of_openai_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(reply="yes", key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        chat = OpenAIChat(ModelName("openai", "gpt-5.4-mini"), known_sources()["openai"])
        assert answers(chat, asked())[0].text == "yes"
    assert server.requests[0]["model"] == "gpt-5.4-mini"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks://user:secret@127.0.0.1:9"),
        ("HTTPS_PROXY", "http://[::1"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem"),
    ],
)
def test_an_environment_that_no_client_can_use(variable, value, monkeypatch):
    monkeypatch.setenv(variable, value)
    [error] = answers(chat_at("https://models.example/v1"), asked())
    assert isinstance(error, ModelError) and error.stop
    assert re.search(f"(Is|Are) .*{variable}.* in the environment right", str(error))
    assert "secret" not in str(error)
    with ModelServer(reply="yes") as server:  # what stays on this machine does not go through a proxy
        assert answers(chat_at(server.url), asked())[0].text == "yes"


def test_a_chat_is_used_again_after_it_was_closed():
    with ModelServer(reply="yes", delay=0.02) as server:
        chat = chat_at(server.url, max_concurrency=2)
        for _ in range(2):
            assert {reply.text for reply in answers(chat, *[asked()] * 6)} == {"yes"}
    assert chat.usage.requests == 12


def test_work_runs_inside_a_loop_that_runs_already():
    async def notebook(chat):
        return answers(chat, asked())

    with ModelServer(reply="yes") as server:
        assert asyncio.run(notebook(chat_at(server.url)))[0].text == "yes"


# Replies by a schema


def test_the_schema_is_sent():
    with ModelServer() as server:
        answers(chat_at(server.url), asked(schema=SCHEMA))
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
    assert server.requests[0]["response_format"] == wanted


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_without_schemas_is_asked_in_words_from_then_on(status):
    def fault(body, number):
        return status if "response_format" in body else None

    with ModelServer(fault=fault) as server:
        chat = chat_at(server.url)
        for _ in range(3):
            assert isinstance(answers(chat, asked(schema=SCHEMA))[0], Reply)
    assert ["response_format" in body for body in server.requests] == [True, False, False, False]
    assert chat.usage.requests == 3


def test_a_bad_request_stays_one_without_its_schema():
    with ModelServer(fault=lambda body, number: 400) as server:
        error = error_of(server, asked(schema=SCHEMA))
        assert (str(error), error.stop) == ("test/m: the server reports error 400: error 400", False)
    assert server.count == 2


def test_one_bad_request_does_not_take_the_schemas_from_the_others():
    def fault(body, number):
        return 400 if body["messages"][0]["content"] == "too long" else None

    with ModelServer(fault=fault) as server:
        chat = chat_at(server.url)
        assert isinstance(answers(chat, asked("too long", SCHEMA))[0], ModelError)
        answers(chat, asked("short", SCHEMA))
    assert "response_format" in server.requests[-1]


# What the model's context has no room for, in the words of llama.cpp, OpenAI, vLLM, Mistral, Anthropic
TOO_LONG = [
    {"code": 400, "message": "request (2524 tokens) exceeds the available context size (2048 tokens), try increasing it",
     "type": "exceed_context_size_error", "n_prompt_tokens": 2524, "n_ctx": 2048},
    {"message": "Your input exceeds the limit of this model.", "type": "invalid_request_error", "param": "messages",
     "code": "context_length_exceeded"},
    {"message": "This model's maximum context length is 2048 tokens. However, your messages have 2524 tokens.",
     "type": "BadRequestError", "param": None, "code": 400},
    {"message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "code": "3051"},
    {"message": "prompt is too long: 213462 tokens > 200000 maximum", "type": "invalid_request_error"},
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


def test_another_bad_request_is_not_one_that_is_too_long():
    said = {"message": "max_tokens is too large: 9000. This model supports at most 4096 completion tokens"}
    with ModelServer() as server:
        server.answer = lambda body, key: (400, json.dumps({"error": said}).encode())
        assert "reports error 400: max_tokens is too large" in str(error_of(server))


# Errors after which nothing more is asked


@pytest.mark.parametrize("status", [401, 403])
def test_after_a_refused_key_nothing_more_is_asked(status):
    with ModelServer(fault=lambda body, number: status) as server:
        chat = chat_at(server.url)
        errors = answers(chat, *[asked(str(number)) for number in range(30)])
        sent = server.count
        with pytest.raises(ModelError):
            asyncio.run(chat.reply(asked()))
    assert sent == server.count <= 16
    assert {str(error) for error in errors} == {f"test/m: the server refuses the key ({status}): check $TEST_API_KEY"}
    assert chat.stopped
    assert chat.stopped.stop


def test_a_model_that_is_not_there_stops_the_run():
    with ModelServer(fault=lambda body, number: 404) as server:
        error = error_of(server)
    assert error.stop
    assert str(error) == f"test/m: there is no such model or address at {server.url} (404): error 404"


def test_a_key_that_the_server_quotes_is_not_shown():
    with ModelServer(key="another", fault=None) as server:
        server.answer = lambda body, key: (400, json.dumps({"error": {"message": f"who is {key}?\nWho?"}}).encode())
        assert str(error_of(server)) == "test/m: the server reports error 400: who is Bearer (key)? Who?"


def test_a_long_error_is_cut_and_its_key_is_gone_before():
    said = "x" * 285 + KEY + "y" * 5000
    with ModelServer() as server:
        server.answer = lambda body, key: (400, json.dumps({"error": {"message": said}}).encode())
        error = str(error_of(server))
    assert len(error) < 350
    assert "sk-" not in error


@pytest.mark.parametrize("said", [b"<html>Bad gateway</html>", b"[1]", b""])
def test_errors_of_any_shape(said):
    with ModelServer() as server:
        server.answer = lambda body, key: (418, said)
        assert str(error_of(server)).startswith("test/m: the server reports error 418: ")


def test_a_used_up_quota_stops_the_run():
    said = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with ModelServer() as server:
        server.answer = lambda body, key: (429, json.dumps(said).encode())
        error = error_of(server)
    assert (str(error), error.stop) == ("test/m: the server reports error 429: You exceeded your quota", True)


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_not_there_stops_the_run():
    url = f"http://127.0.0.1:{closed_port()}/v1"
    [error] = answers(chat_at(url), asked())
    assert (str(error), error.stop) == (f"test/m: {url} cannot be reached. Is the server running?", True)


def test_a_server_that_went_away_does_not_stop_the_run():
    with ModelServer() as server:
        chat = chat_at(server.url)
        answers(chat, asked())
    [error] = answers(chat, asked())
    assert "cannot be reached" in str(error)
    assert not error.stop
    assert chat.stopped is None


@pytest.mark.parametrize("url", ["nonsense", "http://localhost:port/v1", "file:///etc"])
def test_an_address_that_is_none_is_an_error_of_the_model(url):
    [error] = answers(chat_at(url), asked())
    assert isinstance(error, ModelError)
    assert error.stop
    assert url in str(error)


# Errors of one request


@pytest.mark.parametrize("status", [429, 500])
def test_the_client_tries_again(status):
    with ModelServer(reply="yes", fault=lambda body, number: status if number < 2 else None) as server:
        chat = chat_at(server.url, max_retries=2)
        assert answers(chat, asked())[0].text == "yes"
    assert server.count == 3
    assert chat.usage.requests == 1


def test_a_server_that_fails_for_ever():
    with ModelServer(fault=lambda body, number: 500) as server:
        error = error_of(server, max_retries=2)
    assert (str(error), error.stop) == ("test/m: the server reports error 500: error 500", False)
    assert server.count == 3


def test_no_answer_in_time():
    with ModelServer(delay=0.6) as server:
        error = error_of(server, timeout=0.2)
    assert str(error).startswith("test/m: the server has not answered within 0.2 s: allow it more (timeout in ")
    assert not error.stop


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (body_with({"role": "assistant", "content": None, "refusal": f"no {KEY}"}), "the model refused: no (key)"),
        (
            body_with(finish_reason="length"),
            "the reply was cut off after 20 tokens: its limit (max_tokens = 2000) or the model's context was reached",
        ),
        (body_with(finish_reason="content_filter"), "the reply was cut short (content_filter)"),
        (b'{"choices": []}', "the reply does not follow the OpenAI protocol (no choices)"),
        (b"not JSON", "the reply does not follow the OpenAI protocol (JSONDecodeError)"),
    ],
)
def test_a_reply_that_is_none(body, error):
    with ModelServer(reply=body) as server:
        found = error_of(server)
    assert (str(found), found.stop) == (f"test/m: {error}", False)


@pytest.mark.parametrize(
    "body",
    [
        b"null", b"[1, 2]", b'{"choices": 5}', b'{"choices": {"a": 1}}',
        b'{"choices": [null]}', b'{"choices": [{}]}', b'{"error": {"message": "overloaded"}}', b"\xff\xfe{", b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_reply_of_another_shape(body):
    with ModelServer(reply=body) as server:
        found = error_of(server)
    assert not found.stop


@pytest.mark.parametrize(
    "body",
    [
        body_with({"role": "assistant", "content": ""}),
        body_with({"role": "assistant"}),
        body_with({"role": "assistant", "content": "", "reasoning_content": "Hm."}),
        body_with({"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}),
        body_with({"role": "assistant", "content": [{"type": "thinking", "text": "Hm."}]}),
        b'{"choices": [{"message": "hi"}]}',
        b'{"choices": [{"message": {"content": {"text": "a"}}}]}',
    ],
)
def test_a_reply_without_text_is_an_error(body):
    with ModelServer(reply=body) as server:
        assert str(error_of(server)).startswith("test/m: the model's reply was empty")


@pytest.mark.parametrize(("text", "only_thinks"), [("<|im_end|>", False), ("</s>", False), ("Hm.</think>", True)])
def test_only_thoughts_are_called_thoughts(text, only_thinks):
    with ModelServer(text) as server:
        assert ("thoughts" in str(error_of(server))) == only_thinks


@pytest.mark.parametrize(
    "said", ['{"error": "model is loading"}', '{"error": {"error": {"message": "model is loading"}}}',
             '{"detail": [{"msg": "model is loading"}]}', '{"message": "model is loading"}'],
)  # fmt: skip
def test_the_servers_sentence_is_shown(said):
    with ModelServer() as server:
        server.answer = lambda body, key: (500, said.encode())
        assert str(error_of(server)) == "test/m: the server reports error 500: model is loading"
    with ModelServer(reply=said.encode()) as server:
        assert str(error_of(server)) == "test/m: model is loading"


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [{"message": {"content": "yes"}}]}',
        b'{"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": "many"}}',
        b'{"choices": [{"message": {"content": [{"type": "text", "text": "yes"}]}}]}',
    ],
)
def test_a_reply_that_leaves_out_this_and_that(body):
    with ModelServer(reply=body) as server:
        chat = chat_at(server.url)
        assert answers(chat, asked("What is a mean?")) == [Reply("yes", 5, 1)]
    assert chat.usage == Usage(1, 5, 1)


# Keys


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-schlüssel", "sk-\x7f"])
def test_a_key_that_is_none_is_refused_before_any_request(key, monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", key)
    with pytest.raises(ModelError, match="TEST_API_KEY holds characters that no key has") as error:
        chat_at("http://127.0.0.1:9/v1")
    assert error.value.stop
    assert key not in str(error.value)


def test_blanks_around_a_key_do_not_count(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", f" {KEY}\n")
    with ModelServer(reply="yes", key=KEY) as server:
        assert answers(chat_at(server.url), asked())[0].text == "yes"


@pytest.mark.parametrize("value", [None, "  "])
def test_a_missing_key_names_its_variable(value, monkeypatch):
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MISTRAL_API_KEY", value)
    with pytest.raises(ModelError, match="mistral/small: MISTRAL_API_KEY is not set") as error:
        OpenAIChat(ModelName("mistral", "small"), known_sources()["mistral"])
    assert error.value.stop


@pytest.mark.parametrize("variable", ["", "NO_SUCH_KEY"])
def test_a_server_on_this_machine_needs_no_key(variable):
    with ModelServer(reply="yes") as server:
        assert answers(chat_at(server.url, variable), asked())[0].text == "yes"


def test_a_server_that_wants_a_key_where_none_is_configured():
    with ModelServer(key=KEY) as server:
        [error] = answers(chat_at(server.url, ""), asked())
    assert "name its variable in key_variable" in str(error)


# Vectors


@pytest.mark.parametrize(
    "data",
    ["5", "[{}]", '[{"index": 0, "embedding": null}]', '[{"index": 0, "embedding": "abc"}]',
     '[{"index": 0, "embedding": []}]', '{"a": 1}', "[" * 100_000],
)  # fmt: skip
def test_vectors_of_another_shape(data):
    with ModelServer(reply=f'{{"data": {data}}}'.encode()) as server:
        embedder = OpenAIEmbedder(ModelName("test", "m"), ModelSource("test", server.url), RequestLimits(max_retries=0))
        with pytest.raises(ModelError):
            asyncio.run(embedder.embed(["text"]))
