"""The parameters of requests: sent as configured, and not again where a server refuses them."""

import pytest

from lmm_core.errors import CutOffError
from lmm_core.models.cache import Cache
from lmm_core.models.chat import Asker, ChatMessage, Request, run
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import THOUGHTS, OpenAIChat
from lmm_core.models.sources import ModelOptions, ModelSource
from tests.model_server import ModelServer, completion

UNSUPPORTED = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
ONE_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."
)
TOO_LARGE = "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 2048 tokens and your request has 1000 input tokens (2000 > 2048 - 1000)."


def asked(text="What is a mean?", **parts):
    return Request((ChatMessage("user", text),), **parts)


def asker_at(server, warn=print, cache=None, **options):
    limits = ModelOptions(timeout=10, max_retries=0)
    chat = OpenAIChat(ModelName("test", "m"), ModelSource("test", server.url), limits, warn)
    return Asker(chat, cache, options=ModelOptions(**options))


def ask(asker, *requests):
    """Return the texts of the replies to requests, one after the other."""

    async def ask_all():
        try:
            return [await asker.ask(request, str) for request in requests]
        finally:
            await asker.model.close()

    return run(ask_all())


def parameters(server):
    """Return what each request said beside model and messages."""
    ours = ("model", "messages", "stream", "stream_options")
    return [{key: value for key, value in body.items() if key not in ours} for body in server.requests]


def test_what_is_configured_is_sent():
    extra = {"top_p": 0.9}
    with ModelServer(reply="A sum.") as server:
        ask(asker_at(server, max_tokens=300, temperature=0.0, extra=extra), asked(max_tokens=70))
    assert parameters(server) == [{"max_tokens": 300, "temperature": 0.0, "top_p": 0.9}]


def test_the_new_name_of_the_limit_is_learned_once():
    def refuses(body):
        return UNSUPPORTED if "max_tokens" in body else None

    with ModelServer(reply="A sum.", refuses=refuses) as server:
        assert ask(asker_at(server), asked(), asked("And a sum?")) == ["A sum.", "A sum."]
    new = {"max_completion_tokens": 2000 + THOUGHTS}  # these models think, which counts
    assert parameters(server) == [{"max_tokens": 2000}, new, new]


def test_a_refused_temperature_is_said_once_and_sent_no_more():
    told = []
    with ModelServer(reply="A sum.", refuses=lambda body: "temperature" in body and ONE_TEMPERATURE) as server:
        assert ask(asker_at(server, told.append, temperature=0.2), asked(), asked("And?")) == ["A sum.", "A sum."]
    assert parameters(server) == [{"max_tokens": 2000, "temperature": 0.2}, *[{"max_tokens": 2000}] * 2]
    assert told == [f"test/m takes no temperature, and is asked without: {ONE_TEMPERATURE}"]


def test_a_limit_that_is_too_large_is_left_to_the_server_for_that_request_alone():
    def refuses(body):
        return TOO_LARGE if body.get("max_tokens", 0) > 1048 else None

    with ModelServer(reply="A sum.", refuses=refuses) as server:
        ask(asker_at(server), asked(), asked("And?", max_tokens=500))
    assert parameters(server) == [{"max_tokens": 2000}, {}, {"max_tokens": 500}]


# Replies that were cut off


def test_a_reply_that_was_cut_off_says_so_and_what_there_was():
    def reply(body):
        return completion(body, '{"summary": "A mean is', "length", 70)

    with ModelServer(reply=reply) as server, pytest.raises(CutOffError) as error:
        ask(asker_at(server), asked(schema={"type": "object"}, max_tokens=70))
    assert "the reply was cut off after 70 tokens: its limit (max_tokens = 70) or" in str(error.value)
    assert error.value.text == '{"summary": "A mean is'


@pytest.mark.parametrize("thoughts", [{"reasoning_content": "Hm, a mean…"}, {"content": "<think>Hm, a mean…"}])
def test_a_model_that_thought_until_its_limit_gets_room_for_that(thoughts):
    def reply(body):
        return "A sum." if body["max_tokens"] > 2000 else completion(body, "", "length", **thoughts)

    with ModelServer(reply=reply) as server:
        assert ask(asker_at(server), asked(), asked("And?")) == ["A sum.", "A sum."]
    assert [sent["max_tokens"] for sent in parameters(server)] == [2000, 2000 + THOUGHTS, 2000 + THOUGHTS]


# The cache


def test_the_cache_tells_parameters_apart_that_change_replies():
    cache = Cache()
    with ModelServer(reply="A sum.") as server:
        for options in ({}, {"max_tokens": 90}, {"temperature": 0.1}, {"temperature": 0.1}):
            ask(asker_at(server, cache=cache, **options), asked())
    assert parameters(server) == [{"max_tokens": 2000}, {"max_tokens": 2000, "temperature": 0.1}]
