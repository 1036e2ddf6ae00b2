"""The prompts that models get."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models import prompts
from lmm_core.models.prompts import Prompt, annotate_prompt, as_data, enclose, fields_in, language_of

WANTED = [("questions",), ("summary",), ("questions", "summary")]
# Every prompt that there is: those that stand in the module, and those that it makes.
PROMPTS = [
    *(value for value in vars(prompts).values() if isinstance(value, Prompt)),
    *map(annotate_prompt, WANTED),
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_fills_in_its_fields(prompt):
    request = prompt.request(dict.fromkeys(fields_in(prompt.system + prompt.template), "WRITTEN"))
    assert [message.role for message in request.messages] == ["system", "user"]
    assert "{" not in request.text
    assert "WRITTEN" in request.messages[1].content


def tables(schema):
    """Yield a schema, and all that are in it."""
    yield schema
    for below in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from tables(below)


@pytest.mark.parametrize("prompt", [prompt for prompt in PROMPTS if prompt.schema])
def test_a_schema_is_one_that_strict_mode_takes_and_is_told_in_words(prompt):
    known = {"type", "properties", "required", "additionalProperties", "items", "description", "enum"}
    assert prompt.schema["type"] == "object"
    for table in tables(prompt.schema):
        assert set(table) <= known
        if table["type"] == "object":
            assert table["additionalProperties"] is False
            assert table["required"] == list(table["properties"])
    assert "JSON" in prompt.system
    assert all(f"`{key}`" in prompt.system for key in prompt.schema["properties"])


@pytest.mark.parametrize("wanted", WANTED)
def test_only_what_is_wanted_is_asked(wanted):
    prompt = annotate_prompt(wanted)
    assert list(prompt.schema["properties"]) == list(wanted)
    assert [key for key in ("questions", "summary") if f"`{key}`" in prompt.system] == list(wanted)


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("", "the language of the text"),
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
    others = "a < b, <em>x</em>, <sources>, \\<div>, </p>"
    assert as_data(others) == others
