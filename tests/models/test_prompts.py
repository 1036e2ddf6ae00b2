"""The prompts that models get."""

import re
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models import prompts
from lmm_core.models.prompts import Prompt, annotate_prompt, as_data, enclose, language_of

WANTED = [("questions",), ("summary",), ("questions", "summary")]
# Every prompt that there is: those that stand in the module, and those that it makes.
PROMPTS = [
    *(value for value in vars(prompts).values() if isinstance(value, Prompt)),
    *map(annotate_prompt, WANTED),
]


def fields(template):
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def objects(schema):
    """Yield all objects in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_uses_what_it_receives_and_nothing_else(prompt):
    assert fields(prompt.system) | fields(prompt.template) == set(prompt.receives)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_says_what_it_receives_and_returns(prompt):
    assert prompt.returns
    assert all(prompt.receives.values())


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_the_writer_wrote_comes_last(prompt):
    request = prompt.request(dict.fromkeys(prompt.receives, "WRITTEN"))
    assert [message.role for message in request.messages] == ["system", "user"]
    assert "{" not in request.text
    assert "WRITTEN" in request.messages[1].content


@pytest.mark.parametrize("prompt", [prompt for prompt in PROMPTS if prompt.schema])
def test_a_schema_is_one_that_strict_mode_takes(prompt):
    assert prompt.schema["type"] == "object"
    for found in objects(prompt.schema):
        assert found["additionalProperties"] is False
        assert found["required"] == list(found["properties"])


@pytest.mark.parametrize("prompt", [prompt for prompt in PROMPTS if prompt.schema])
def test_a_schema_uses_only_what_strict_mode_knows(prompt):
    def keys(schema):
        yield from schema.keys() - {"properties"}
        for below in schema.get("properties", {}).values():
            yield from keys(below)
        if "items" in schema:
            yield from keys(schema["items"])

    assert set(keys(prompt.schema)) <= {"type", "required", "additionalProperties", "items", "description", "enum"}


@pytest.mark.parametrize("prompt", [prompt for prompt in PROMPTS if prompt.schema])
def test_servers_without_schemas_are_told_in_words(prompt):
    assert "JSON" in prompt.system
    assert all(f"`{key}`" in prompt.system for key in prompt.schema["properties"])


@pytest.mark.parametrize("wanted", WANTED)
def test_only_what_is_wanted_is_asked(wanted):
    prompt = annotate_prompt(wanted)
    assert list(prompt.schema["properties"]) == list(wanted)
    assert [key for key in ("questions", "summary") if f"`{key}`" in prompt.system] == list(wanted)


def test_the_order_in_which_things_are_wanted_does_not_count():
    values = dict.fromkeys(annotate_prompt(("summary",)).receives, "x")
    both = [annotate_prompt(wanted).request(values) for wanted in (("questions", "summary"), ("summary", "questions"))]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("", "the language of the text"),
        ("en", "English (en)"),
        ("de-AT", "German (de-AT)"),
        ("pt_BR", "Portuguese (pt_BR)"),
        ("tlh", "the language 'tlh'"),
    ],
)
def test_languages_have_names(code, language):
    assert language_of(code) == language


# Texts of writers, between tags


@given(st.lists(st.sampled_from(["<", "\\", "/", " ", "source", "SOURCE", ">", "notes", "x", "\n", "</source>"])))
def test_what_looks_like_a_tag_is_made_harmless_and_nothing_is_lost(parts):
    text = "".join(parts)
    assert as_data(text).replace("\\", "") == text.replace("\\", "")
    assert not re.search(r"<\s*/?\s*(source|notes)\b", as_data(text), re.I)
    assert enclose("source", text, 1).count("</source>") == 1


def test_only_our_own_tags_are_changed():
    text = "a < b, <em>x</em>, <sources>, \\<div>, </p>"
    assert as_data(text) == text
