"""Prompts in a person's own words: which there are, what a file may hold, and what a model is then told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import PromptError
from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.annotators.model_annotator import make_request
from lmm_core.models.prompts import KNOWN, RULES, as_written, fields_in, own_prompt, read_prompt

SECTION = AnnotatorSection(("Notes", "Residuals"), "A residual is a distance.", language="en")


def own(tmp_path, name, text):
    """The template that a file with a text gives for a prompt."""
    (tmp_path / "own.md").write_text(text, encoding="utf-8")
    return read_prompt(name, tmp_path / "own.md")


def problem(tmp_path, name, text):
    with pytest.raises(PromptError) as error:
        own(tmp_path, name, text)
    return str(error.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_our_words_in_a_file_are_ours(tmp_path, known):
    assert own(tmp_path, known.name, known.text) == ""
    assert own(tmp_path, known.name, known.text.replace(" ", "\r\n")) == ""
    assert set(known.needed) <= set(fields_in(known.text)) <= set(known.fields)
    assert known.purpose and all(known.fields.values())


def test_the_rules_on_sources_belong_to_every_answer(tmp_path):
    assert KNOWN["answer"].needed == ["rules", "type", "tools", "teacher"]
    said = problem(tmp_path, "answer", "Answer as you like. {type}{tools}{teacher}")
    assert said == "own.md: these fields are missing: {rules}: our rules on sources and refusal"
    prompt = own_prompt("answer", {"answer": own(tmp_path, "answer", "Be brief. {rules}{type}{tools}{teacher}")})
    request = prompt.request(
        dict.fromkeys(fields_in(prompt.system + prompt.template), "") | {"rules": RULES, "question": "Why?"}
    )
    assert request.messages[0].content == f"Be brief. {RULES}"
    assert request.messages[1].content == own_prompt("answer", {}).template.format_map(
        dict.fromkeys(fields_in(prompt.system + prompt.template), "") | {"question": "Why?"}
    )


def test_what_a_section_gets_is_asked_for_in_own_words(tmp_path):
    prompts = {"questions": own(tmp_path, "questions", "Three questions in {language} on “{titles}”, with $\\bar{2}$.")}
    told = make_request(SECTION, ["questions", "summary"], own=prompts).messages[0].content
    assert "- `questions`: Three questions in English (en) on “Notes > Residuals”, with $\\bar{2}$.\n" in told
    ours = make_request(SECTION, ["questions", "summary"])
    assert f"- `summary`: {KNOWN['summary'].text}" in told and "three questions" not in ours.text.lower()
    assert make_request(SECTION, ["questions", "summary"], own=prompts).schema == ours.schema


@pytest.mark.parametrize("data", [b" \n", b"x" * 60_000, b"Fragen\n\xfcber", None])
def test_what_cannot_be_used_is_named(tmp_path, data):
    if data is not None:
        (tmp_path / "own.md").write_bytes(data)
    with pytest.raises(PromptError, match=r"own\.md: (cannot be read|should be a text file)"):
        read_prompt("questions", tmp_path / "own.md")


@given(st.lists(st.sampled_from(["{", "}", "{{", "}}", "titles", "x", " ", "{titles}", "{{x}}", "0", "\n"])))
def test_any_braces_are_text_or_a_field(tmp_path_factory, parts):
    file = tmp_path_factory.mktemp("prompts") / "own.md"
    file.write_text(text := "Ask " + "".join(parts), encoding="utf-8")
    template = read_prompt("questions", file)
    assert set(fields_in(template)) <= {"titles"}
    assert as_written(template) == text.strip()
    template.format_map({"titles": "T"})
