"""A model is asked once, for one token or one vector, and what came of it is said."""

import asyncio
import re

import pytest

from lmm_core.cli.doctor import try_model
from lmm_core.models.names import ModelName
from lmm_core.models.sources import ModelSource, RequestLimits
from tests.model_server import ModelServer

KEY = "k3y-of-the-reader"
# As OpenAI's models say it that think before they answer
RENAMED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
CUT_OFF = "Could not finish the message because max_tokens or model output limit was reached. Please try again."


def tried(url, model="m", variable="", embeds=False, seconds=5.0):
    limits = RequestLimits(timeout=seconds)
    return asyncio.run(try_model(ModelName("test", model), ModelSource("test", url, variable), limits, embeds))


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


@pytest.mark.parametrize(
    ("said", "then"),
    [
        (RENAMED, {"max_completion_tokens": 1}),
        ("Unsupported parameter: max_tokens", {}),
        (CUT_OFF, None),  # it has no answer of one token
    ],
)
def test_a_model_that_takes_no_limit_of_one_token(said, then):
    with ModelServer(reply="yes", refuses=lambda body: said if "max_tokens" in body else None) as server:
        assert tried(server.url).answered
    if then is not None:
        sent = server.requests[1]
        assert {key: sent[key] for key in sent if key not in ("model", "messages")} == then


def test_an_embedding_model():
    with ModelServer(reply=b'{"model": "m", "data": [{"index": 0, "embedding": [1.0]}]}') as server:
        assert tried(server.url, embeds=True).answered
    assert [request["input"] for request in server.requests] == [["one"]]
    with ModelServer(reply="yes") as server:
        assert "0 vectors for 1 texts" in tried(server.url, embeds=True).said


def test_a_server_that_does_not_answer():
    with ModelServer(delay=1.0) as server:
        assert tried(server.url, seconds=0.1).said.startswith("test/m: the server has not answered within 0.1 s")
    assert "not the address of a server" in tried("localhost:11434").said
    with ModelServer(reply=b"null") as server:
        trial = tried(server.url)
    assert (trial.answered, "does not follow the OpenAI protocol" in trial.said) == (False, True)
