"""The prompts that models get: ours, and those in a person's own words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import PromptError
from lmm_core.models import prompts
from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.annotators.model_annotator import make_request
from lmm_core.models.prompts import (
    KNOWN,
    Prompt,
    annotate_prompt,
    as_data,
    as_written,
    enclose,
    fields_in,
    own_prompt,
    read_prompt,
)

WANTED = [("questions",), ("summary",), ("questions", "summary")]
PROMPTS = [*(value for value in vars(prompts).values() if isinstance(value, Prompt)), *map(annotate_prompt, WANTED)]
SECTION = AnnotatorSection(("Notes", "Residuals"), "A residual is a distance.", language="en")


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_fills_in_its_fields(prompt):
    request = prompt.request(dict.fromkeys(fields_in(prompt.system + prompt.template), "WRITTEN"))
    assert [message.role for message in request.messages] == ["system", "user"]
    assert "{" not in request.text and "WRITTEN" in request.messages[1].content


def tables(schema):
    """Yield a schema, and all that are in it."""
    yield schema
    for below in [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]:
        yield from tables(below)


@pytest.mark.parametrize("prompt", [prompt for prompt in PROMPTS if prompt.schema])
def test_a_schema_is_one_that_strict_mode_takes_and_is_told_in_words(prompt):
    for table in tables(prompt.schema):
        assert set(table) <= {"type", "properties", "required", "additionalProperties", "items", "description", "enum"}
        if table["type"] == "object":
            assert table["additionalProperties"] is False
            assert table["required"] == list(table["properties"])
    assert "JSON" in prompt.system
    assert all(f"`{key}`" in prompt.system for key in prompt.schema["properties"])


@given(st.lists(st.sampled_from(["<", "\\", "/", " ", "source", "SOURCE", ">", "notes", "x", "\n", "</source>"])))
def test_what_looks_like_a_tag_is_made_harmless_and_nothing_is_lost(parts):
    text = "".join(parts)
    assert as_data(text).replace("\\", "") == text.replace("\\", "")
    assert not re.search(r"<\s*/?\s*(source|notes)\b", as_data(text), re.I)
    assert enclose("source", text, 1).count("</source>") == 1
    others = "a < b, <em>x</em>, <sources>, \\<div>, </p>"
    assert as_data(others) == others


# In a person's own words


def own(tmp_path, name, text):
    """The template that a file with a text gives for a prompt."""
    (tmp_path / "own.md").write_text(text, encoding="utf-8")
    return read_prompt(name, tmp_path / "own.md")


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_our_words_in_a_file_are_ours(tmp_path, known):
    assert own(tmp_path, known.name, known.text.replace(" ", "\r\n")) == ""
    assert set(known.needed) <= set(fields_in(known.text)) <= set(known.fields)


def test_the_rules_on_sources_belong_to_every_answer(tmp_path):
    with pytest.raises(PromptError, match=r"own\.md: these fields are missing: {rules}: our rules on sources"):
        own(tmp_path, "answer", "Answer as you like. {type}{tools}{teacher}")
    prompt = own_prompt("answer", {"answer": own(tmp_path, "answer", "Be brief. {rules}{type}{tools}{teacher}")})
    values = dict.fromkeys(fields_in(prompt.system + prompt.template), "") | {"rules": "Cite.", "question": "Why?"}
    system, user = prompt.request(values).messages
    assert system.content == "Be brief. Cite."
    assert user.content == own_prompt("answer", {}).template.format_map(values)


def test_what_a_section_gets_is_asked_for_in_own_words(tmp_path):
    prompts = {"questions": own(tmp_path, "questions", "Three questions in {language} on “{titles}”, with $\\bar{2}$.")}
    told, ours = (make_request(SECTION, ["questions", "summary"], own=words) for words in (prompts, {}))
    assert "- `questions`: Three questions in English (en) on “Notes > Residuals”, with $\\bar{2}$.\n" in told.text
    assert f"- `summary`: {KNOWN['summary'].text}" in told.text and told.schema == ours.schema


@pytest.mark.parametrize("data", [b" \n", b"x" * 60_000, b"Fragen\n\xfcber"])
def test_a_file_that_cannot_be_used_is_named(tmp_path, data):
    (tmp_path / "own.md").write_bytes(data)
    with pytest.raises(PromptError, match=r"own\.md: (cannot be read|should be a text file)"):
        read_prompt("questions", tmp_path / "own.md")


@given(st.lists(st.sampled_from(["{", "}", "{{", "}}", "titles", "x", " ", "{titles}", "{{x}}", "0", "\n"])))
def test_any_braces_are_text_or_a_field(tmp_path_factory, parts):
    text = "Ask " + "".join(parts)
    template = own(tmp_path_factory.mktemp("prompts"), "questions", text)
    assert set(fields_in(template)) <= {"titles"}
    assert as_written(template) == text.strip()
    template.format_map({"titles": "T"})
