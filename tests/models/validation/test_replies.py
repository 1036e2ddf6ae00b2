"""Validation of replies: good ones pass, bad ones do not, and the good part of a mixed one is kept."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.validation import check_reply
from tests.effort import at_most
from tests.strategies import markdown

HERE = Path(__file__).parent
BOTH = ("questions", "summary")
RESIDUALS = AnnotatorSection(
    ("Linear models", "Residuals"),
    "A residual is the difference between an observed value and the value that the model predicts. Residuals should "
    "scatter around zero without any pattern.",
)


def sections(name):
    """Return the sections of a file with the replies to them."""
    return [
        (AnnotatorSection(tuple(one["titles"]), one["text"], (), one["lang"]), one)
        for one in yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    ]


def checked(section=RESIDUALS, **said):
    """Return the checked reply that says this."""
    return check_reply(json.dumps(said), section, list(said))


def is_summary(said, section=RESIDUALS):
    return bool(said) and checked(section, summary=said).summary == said


# Whole replies


def test_no_good_reply_is_refused():
    for section, replies in sections("good_replies"):
        assert kept(*replies["questions"], section=section) == replies["questions"]
        assert [said for said in replies["summaries"] if not is_summary(said, section)] == []


@pytest.mark.parametrize(
    "said",
    [
        "", "1", "?", "test-prep", "residual", "Residuals?", "Question 1?", "string", "questions", "<|im_end|>?",
        "</notes> What is a residual?", "why why why? " * 12,
        "What is a residual " * 60 + "?", "Where is it said what the residual is, and is said " * 9 + "?",
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(said):
    assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "", "1", "summary", "string", "Residuals", "A residual is a difference<|im_end|> of two values.",
        "A residual is a difference of two values. A residual is a difference of two values.",
        "It is a sum and so on. " * 120,
    ],
)  # fmt: skip
def test_what_is_no_summary_is_refused(said):
    assert not is_summary(said)


# Questions


def kept(*questions, section=RESIDUALS):
    found = []
    for at in range(0, len(questions), 10):
        found += checked(section, questions=list(questions[at : at + 10])).questions
    return found


@pytest.mark.parametrize(
    ("language", "titles", "text", "question"),
    [
        ("zh", "残差", "残差是观测值与模型预测值之差。残差应围绕零随机分布。", "什么是残差？"),
        ("th", "ค่าคลาดเคลื่อน", "ค่าคลาดเคลื่อนคือผลต่างระหว่างค่าที่สังเกตได้กับค่าที่แบบจำลองทำนาย", "ค่าคลาดเคลื่อนคืออะไร"),
        ("ar", "البواقي", "الباقي هو الفرق بين القيمة المشاهدة والقيمة التي يتنبأ بها النموذج.", "كيف نحسب الفرق بين القيم؟"),
        ("el", "Υπόλοιπα", "Το υπόλοιπο είναι η διαφορά ανάμεσα στην τιμή και σε αυτήν που προβλέπει το μοντέλο.", "Τι είναι το υπόλοιπο;"),
        ("es", "Los residuos", "Un residuo es la diferencia entre el valor observado y el predicho.", "¿Qué es un residuo?"),
        ("de", "Residuals", "A residual is the difference between a value and its prediction.", "Was ist ein Residuum?"),
        ("", "", "The mean is the sum of the values by their number.", "What is the mean?"),
    ],
)  # fmt: skip
def test_questions_in_other_languages_and_scripts(language, titles, text, question):
    assert kept(question, section=AnnotatorSection((titles,), text, (), language)) == [question]


# The forms in which replies come


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (
            ["1. What is a residual?", "2. Why should residuals scatter?"],
            ["What is a residual?", "Why should residuals scatter?"],
        ),
        (
            ["Question 1: What is a residual?", "Q2: Why should it scatter?"],
            ["What is a residual?", "Why should it scatter?"],
        ),
        (["What is a residual?", "what is a  residual ?", "What is a residual?!"], ["What is a residual?"]),
        (["What is a \x1b[31mresidual\x1b[0m?\x1b]0;title\x07"], ["What is a residual?"]),
    ],
)
def test_questions_are_read_without_numbers_and_once(given, read):
    found = check_reply(json.dumps({"Questions": given}), RESIDUALS, ["questions"])
    assert found.questions == read
    assert not found.refused


def test_an_ordinal_is_no_number_of_a_list():
    section = AnnotatorSection(("Geschichte",), "Der 1. Weltkrieg begann 1914.", (), "de")
    assert kept("1. Weltkrieg: wann begann er?", section=section) == ["1. Weltkrieg: wann begann er?"]


@pytest.mark.parametrize("label", ["", "Summary: ", "**Summary:** "])
def test_a_summary_is_read(label):
    said = "A residual is an observed value minus its prediction."
    assert checked(summary=label + said).summary == said


def test_the_good_ones_of_a_reply_are_kept_and_the_others_told():
    questions = ["What is a residual?", "1", "Why should residuals scatter?", "test-prep", "What pattern is bad?"]
    found = check_reply(json.dumps({"questions": questions, "summary": "summary"}), RESIDUALS, BOTH)
    assert found.questions == [questions[0], questions[2], questions[4]]
    assert found.remarks == ("2 of 5 questions left out: '1' is not a question; 'test-prep' is not a question",)
    assert {key: str(error) for key, error in found.refused.items()} == {"summary": "is not a whole sentence"}


# Any text

ONE_LINE = re.compile("[ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")
said = st.text(st.characters(codec=None)) | st.text("1.)-*?# \nresidual\"{}[]:,'`<>/|") | markdown()


@given(said, st.sampled_from([["questions"], ["summary"], list(BOTH)]))
@example("", ["questions"])
@example("\ud800?", ["questions"])
def test_whatever_passes_is_a_line_and_nothing_but_our_errors_is_raised(text, wanted):
    for reply in (text, json.dumps({"questions": [text, f"Residual {text}?"], "summary": f"A residual is {text}."})):
        found = check_reply(reply, RESIDUALS, wanted)
        for line in [*found.questions, *filter(None, [found.summary])]:
            assert ONE_LINE.fullmatch(line)
            assert line == line.strip()
        assert all(found.refused.get(key) or getattr(found, key) for key in wanted)


@pytest.mark.parametrize(
    "unit",
    ["? ", "1. ", "residual ", "残", "Q 1 : ", '{"questions": ["'],
)  # fmt: skip
def test_a_long_reply_takes_no_longer(unit):
    text = unit * (20_000 // len(unit))
    with at_most(seconds=4):
        for reply in (text, json.dumps({"questions": [text[:4_900]] * 12, "summary": text[:4_900]})):
            check_reply(reply, RESIDUALS, BOTH)
