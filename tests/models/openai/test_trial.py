"""A model is asked once, for one token or one vector, and what came of it is said."""

import asyncio
import json
import re
import socket

import pytest

from lmm_core.models.names import ModelName
from lmm_core.models.openai.trial import try_model
from lmm_core.models.sources import ModelSource, RequestLimits
from tests.model_server import ModelServer

KEY = "k3y-of-the-reader"
# As OpenAI's models say it that think before they answer
RENAMED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
CUT_OFF = "Could not finish the message because max_tokens or model output limit was reached. Please try again."


def tried(url, model="m", variable="", embeds=False, seconds=5.0):
    limits = RequestLimits(timeout=seconds)
    return asyncio.run(try_model(ModelName("test", model), ModelSource("test", url, variable), limits, embeds))


def closed_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def test_a_model_that_answers():
    with ModelServer(reply="yes") as server:
        trial = tried(server.url)
    assert trial.answered
    assert re.fullmatch(rf"test/m: answered in \d+\.\d s at {server.url}", trial.said)
    (request,) = server.requests
    assert (request["model"], request["max_tokens"]) == ("m", 1)


def test_a_key_that_is_refused(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with ModelServer(key="another") as server:
        trial = tried(server.url, variable="TEST_API_KEY")
    assert (trial.answered, trial.said) == (False, "test/m: the server refuses the key (401): check $TEST_API_KEY")
    assert server.count == 1


def test_a_model_that_the_server_does_not_know(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", KEY)
    with ModelServer(fault=lambda body, number: 404) as server:
        trial = tried(server.url, "llama3.2", "TEST_API_KEY")
    assert not trial.answered and "there is no such model or address" in trial.said


class Unlimited(ModelServer):
    def answer(self, body, key):
        status, data = super().answer(body, key)
        return status, data.replace(b"error 400", b"Unsupported parameter: max_tokens")


class Renamed(ModelServer):
    def answer(self, body, key):
        status, data = super().answer(body, key)
        return status, data.replace(b"error 400", RENAMED.encode())


def test_a_model_that_has_another_word_for_the_limit():
    with Renamed(reply="yes", fault=lambda body, number: 400 if "max_tokens" in body else None) as server:
        assert tried(server.url).answered
    assert [request.get("max_completion_tokens") for request in server.requests] == [None, 1]


def test_a_server_that_knows_no_limit():
    with Unlimited(reply="yes", fault=lambda body, number: 400 if "max_tokens" in body else None) as server:
        assert tried(server.url).answered
    assert ["max_tokens" in request for request in server.requests] == [True, False]


def test_a_model_that_has_no_answer_of_one_token():
    class Thinking(ModelServer):
        def answer(self, body, key):
            said = RENAMED if "max_tokens" in body else CUT_OFF
            return 400, json.dumps({"error": {"message": said}}).encode()

    with Thinking() as server:
        assert tried(server.url).answered


def test_an_embedding_model():
    with ModelServer(reply=b'{"model": "m", "data": [{"index": 0, "embedding": [1.0]}]}') as server:
        assert tried(server.url, embeds=True).answered
    assert [request["input"] for request in server.requests] == [["one"]]
    with ModelServer(reply="yes") as server:
        assert "0 vectors for 1 texts" in tried(server.url, embeds=True).said


def test_a_server_that_is_not_there():
    assert "cannot be reached" in tried(f"http://127.0.0.1:{closed_port()}/v1").said


def test_a_server_that_is_slow():
    with ModelServer(delay=1.0) as server:
        assert tried(server.url, seconds=0.1).said.startswith("test/m: the server has not answered within 0.1 s")


def test_a_server_at_an_address_that_is_none():
    assert "not the address of a server" in tried("localhost:11434").said


@pytest.mark.parametrize("body", [b"not JSON", b"null"])
def test_a_server_of_another_kind(body):
    with ModelServer(reply=body) as server:
        trial = tried(server.url)
    assert (trial.answered, "does not follow the OpenAI protocol" in trial.said) == (False, True)
