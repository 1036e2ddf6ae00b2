"""Annotations by a chat model: its requests, and the reading of its replies."""

import asyncio
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmm_core.errors import ModelError
from lmm_core.models.annotators.annotator import Annotation, AnnotatorSection
from lmm_core.models.annotators.model_annotator import ModelAnnotator, make_request
from lmm_core.models.cache import Cache
from lmm_core.models.chat import Asker
from lmm_core.models.names import ModelName
from lmm_core.models.openai.chat import OpenAIChat
from lmm_core.models.replies import find_object, one_line
from lmm_core.models.sources import ModelOptions, ModelSource
from tests.model_server import ModelServer
from tests.strategies import markdown

BOTH = ("questions", "summary")


# Requests


def asked(text="A mean is a sum.", titles=("Book", "Means"), summaries=(), language="", wanted=BOTH):
    """Return the system message and the user's message."""
    request = make_request(AnnotatorSection(titles, text, summaries, language), wanted)
    return [message.content for message in request.messages]


@pytest.mark.parametrize("text", ["A mean is a sum.", "{language} {0} {{ %s"])
def test_a_section_is_shown_as_it_is_with_its_titles_and_subsections(text):
    system, user = asked(text, ("Book", text), (text,))
    assert user == f"Section: Book > {text}\n\n<text>\n{text}\n</text>\n\n<subsections>\n- {text}\n</subsections>"
    assert system == asked()[0]
    assert "Write in German (de-AT)." in asked(language="de-AT")[0]


# Replies


@pytest.mark.parametrize(
    "reply",
    [
        '{"summary": "On means."}',
        'The set {1, 2} and $\\bar{x}$: {"summary": "On means."}',
        '```json\n{\n  "summary": "On\nmeans."\n}\n```',
        'Here {you} are: {"summary": "On means.", "questions": ["a", "b", ], }',
    ],
)
def test_the_object_is_found_in(reply):
    assert find_object(reply)["summary"].split() == ["On", "means."]
    assert find_object(r'{"summary": "The mean \mu, \underline{x} and \\sigma."}')["summary"] == (
        r"The mean \mu, \underline{x} and \sigma."
    )


@given(st.text() | st.text('{}[]",:\\ aé0\n-e.<think>/') | markdown())
@example('{"a":[' * 2_000 + "}")
@example("{ " * 5_000 + '{"a": 1}')
def test_any_reply_holds_an_object_or_is_an_error(text):
    try:
        assert isinstance(find_object(text), dict)
    except ModelError as error:
        assert len(str(error)) < 400 and one_line(str(error)) == str(error)


# The annotator


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("TEST_API_KEY", "sk-test")
    with ModelServer() as server:
        yield server


def annotator_of(server, cache=None):
    chat = OpenAIChat(
        ModelName("test", "m"), ModelSource("test", server.url, "TEST_API_KEY"), ModelOptions(max_retries=0)
    )
    return ModelAnnotator(chat.name, lambda: Asker(chat, cache))


def annotation(annotator, section, wanted=BOTH, instead=""):
    async def work():
        try:
            return await annotator.annotate(section, wanted, instead)
        finally:
            await annotator.close()

    return asyncio.run(work())


def test_one_request_returns_questions_and_summary(server, tmp_path):
    annotator, section = annotator_of(server, Cache(tmp_path)), AnnotatorSection(("T",), "A mean is a sum.")
    for _ in range(2):
        found = annotation(annotator, section)
        assert found.questions[0].startswith("What of A mean is a sum.")
        assert found.summary.startswith("Summary of A mean is a sum.")
        assert server.count == 1
    annotation(annotator, section, instead="that summary")
    assert server.count == 2


# What is no good is asked for once more

GOOD = json.dumps({"questions": ["What is a mean?"], "summary": "A mean is a sum by a number."})
MEANS = AnnotatorSection(("Means",), "A mean is a sum by a number. It is moved by extreme values.")


def replies(server, *given):
    """Let a server give one reply after the other."""
    server.reply = lambda body: given[min(server.count, len(given)) - 1]


def test_what_is_refused_is_asked_for_again_with_the_reason(server):
    replies(server, json.dumps({"questions": ["1", "2"], "summary": "A mean is a sum by a number."}), GOOD)
    found = annotation(annotator_of(server), MEANS)
    assert found == Annotation(["What is a mean?"], "A mean is a sum by a number.")
    first, again = server.requests
    assert again["messages"][1] == first["messages"][1]
    assert json.loads(again["messages"][2]["content"])["questions"] == ["1", "2"]
    assert "questions: '1' is not a question" in again["messages"][3]["content"]
    assert again["response_format"]["json_schema"]["schema"]["required"] == ["questions"]


def test_what_is_refused_twice_is_told_and_the_rest_kept(server):
    replies(server, '{"questions": ["What is a mean?", "7"], "summary": "summary"}', '{"summary": "1"}')
    found = annotation(annotator_of(server), MEANS)
    assert (found.questions, found.summary) == (["What is a mean?"], "")
    assert str(found.refused["summary"]) == "test/m: summary: '1' is not a whole sentence"
    assert found.remarks == ("1 of 2 questions left out: '7' is not a question",)


def test_nothing_good_in_two_replies_is_an_error_and_not_kept(server, tmp_path):
    replies(server, "no")
    with pytest.raises(ModelError, match="test/m: the reply is not JSON: 'no'"):
        annotation(annotator_of(server, Cache(tmp_path)), MEANS)
    assert Cache(tmp_path).size().replies == 0
