"""Validation of replies: good ones pass, bad ones do not, and the good part of a mixed one is kept."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmm_core.errors import GateError, ModelError
from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.validation.annotations import check_reply
from lmm_core.models.validation.echoes import echo_in
from lmm_core.models.validation.questions import check_questions
from lmm_core.models.validation.summaries import check_summary
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


def is_refused(check, said, section):
    try:
        check(said, section)
    except GateError:
        return True
    return False


# Whole replies


def test_no_good_reply_is_refused():
    refused = []
    for section, replies in sections("good_replies"):
        _, faults = check_questions(replies["questions"], section)
        refused += [(fault.said, str(fault)) for fault in faults]
        refused += [said for said in replies["summaries"] if is_refused(check_summary, said, section)]
    assert refused == []


@pytest.mark.parametrize(
    "said",
    [
        "", "1", "?", "test-prep", "residual", "Residuals?", "Question 1?", "string", "questions", "<|im_end|>?",
        "</notes> What is a residual?", "As an AI language model, I cannot ask that?", "why why why? " * 12,
        "What is a residual " * 60 + "?", "Where is it said what the residual is, and is said " * 9 + "?",
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused(said):
    assert check_questions([said], RESIDUALS)[0] == []


@pytest.mark.parametrize(
    "said",
    [
        "", "1", "summary", "string", "Residuals", "A residual is the", "The residual is this:", "What is a residual?",
        "A residual is a difference<|im_end|> of two values.", "I'm sorry, but I can't say what a residual is.",
        "A residual is a difference of two values. A residual is a difference of two values.", RESIDUALS.text,
        "It is a sum and so on. " * 120,
    ],
)  # fmt: skip
def test_what_is_no_summary_is_refused(said):
    assert is_refused(check_summary, said, RESIDUALS)


# Questions


def kept(*questions, section=RESIDUALS):
    return check_questions(questions, section)[0]


@pytest.mark.parametrize(
    ("language", "titles", "text", "question"),
    [
        ("zh", "残差", "残差是观测值与模型预测值之差。残差应围绕零随机分布。", "什么是残差？"),
        ("zh", "残差", "残差是观测值与模型预测值之差。残差应围绕零随机分布。", "残差是否围绕零分布吗"),
        ("ja", "残差", "残差とは、観測値とモデルの予測値との差である。", "残差とは何ですか。"),
        ("ko", "잔차", "잔차는 관측값과 모형의 예측값의 차이이다.", "잔차란 무엇인가?"),
        ("th", "ค่าคลาดเคลื่อน", "ค่าคลาดเคลื่อนคือผลต่างระหว่างค่าที่สังเกตได้กับค่าที่แบบจำลองทำนาย", "ค่าคลาดเคลื่อนคืออะไร"),
        ("ar", "البواقي", "الباقي هو الفرق بين القيمة المشاهدة والقيمة التي يتنبأ بها النموذج.", "كيف نحسب الفرق بين القيم؟"),
        ("el", "Υπόλοιπα", "Το υπόλοιπο είναι η διαφορά ανάμεσα στην τιμή και σε αυτήν που προβλέπει το μοντέλο.", "Τι είναι το υπόλοιπο;"),
        ("hi", "अवशेष", "अवशेष प्रेक्षित मान और अनुमानित मान के बीच का अंतर है।", "अवशेष क्या है?"),
        ("es", "Los residuos", "Un residuo es la diferencia entre el valor observado y el predicho.", "¿Qué es un residuo?"),
        ("nl", "Residuen", "Een residu is het verschil tussen een waarde en de voorspelling.", "Wat is een residu?"),
        ("tr", "Artıklar", "Artık, gözlenen değer ile tahmin edilen değer arasındaki farktır.", "Artık nedir?"),
        ("de", "Residuals", "A residual is the difference between a value and its prediction.", "Was ist ein Residuum?"),
        ("", "", "The mean is the sum of the values by their number.", "What is the mean?"),
    ],
)  # fmt: skip
def test_questions_in_other_languages_and_scripts(language, titles, text, question):
    assert kept(question, section=AnnotatorSection((titles,), text, (), language)) == [question]


def test_each_question_stands_once():
    assert kept("What is a residual?", "what is a  residual ?", "What is a residual?!") == ["What is a residual?"]


def test_what_is_wrong_is_said_of_each():
    _, faults = check_questions(["1", "test-prep", "What is a residual?"], RESIDUALS)
    assert [(fault.said, str(fault)) for fault in faults] == [
        ("1", "is a number or a sign, not a question"),
        ("test-prep", "is not a question"),
    ]


# The forms in which replies come


@pytest.mark.parametrize(
    "reply",
    [
        '{"questions": ["What is a residual?", "Why should residuals scatter?"]}',
        '{"questions": ["1. What is a residual?", "2. Why should residuals scatter?"]}',
        '{"questions": ["Question 1: What is a residual?", "Q2: Why should residuals scatter?"]}',
        '{"questions": "1. What is a residual?\\n2. Why should residuals scatter?"}',
        '{"questions": {"1": "What is a residual?", "2": "Why should residuals scatter?"}}',
        '{"questions": [{"question": "What is a residual?"}, {"question": "Why should residuals scatter?"}]}',
        '{"Questions": ["What is a residual?", "Why should residuals scatter?"]}',
        '["What is a residual?", "Why should residuals scatter?"]',
        "1. What is a residual?\n2. Why should residuals scatter?",
        "Here are the questions:\n\n1) What is a residual?\n2) Why should residuals scatter?\n\nDo you want more?",
        "- What is a residual?\n- Why should residuals scatter?",
        "* What is a residual?\n\n* Why should residuals scatter?\n",
        "Sure!\nWhat is a residual?\nWhy should residuals scatter?",
        "- What is a residual?\n- Why should residuals scatter?",
    ],
)
def test_a_list_of_questions_is_read(reply):
    found = check_reply(reply, RESIDUALS, ["questions"])
    assert found.questions == ["What is a residual?", "Why should residuals scatter?"]
    assert not found.refused


@pytest.mark.parametrize(
    "reply",
    [
        '{"summary": "A residual is an observed value minus its prediction."}',
        '{"summary": ["A residual is an observed value", "minus its prediction."]}',
        '{"summary": "Summary: A residual is an observed value minus its prediction."}',
        "A residual is an observed value\nminus its prediction.",
        "**Summary:** A residual is an observed value minus its prediction.",
    ],
)
def test_a_summary_is_read(reply):
    assert check_reply(reply, RESIDUALS, ["summary"]).summary == "A residual is an observed value minus its prediction."


def test_a_list_and_a_summary_are_read_without_json():
    reply = "Questions:\n1. What is a residual?\n2. Why should residuals scatter?\n\nSummary: Residuals scatter around zero."
    found = check_reply(reply, RESIDUALS, BOTH)
    assert (found.questions[0], found.summary) == ("What is a residual?", "Residuals scatter around zero.")


def test_an_ordinal_is_no_number_of_a_list():
    section = AnnotatorSection(("Geschichte",), "Der 1. Weltkrieg begann 1914.", (), "de")
    question = "1. Weltkrieg: wann begann er?"
    assert check_reply(json.dumps({"questions": [question]}), section, ["questions"]).questions == [question]


def test_the_good_ones_of_a_reply_are_kept_and_the_others_told():
    questions = ["What is a residual?", "1", "Why should residuals scatter?", "test-prep", "What pattern is bad?"]
    found = check_reply(json.dumps({"questions": questions, "summary": "summary"}), RESIDUALS, BOTH)
    assert found.questions == [questions[0], questions[2], questions[4]]
    assert found.remarks == ("2 of 5 questions left out: '1' is a number or a sign, not a question",)
    assert {key: str(error) for key, error in found.refused.items()} == {
        "summary": "is a key of the reply, not its value"
    }


# Any text

ONE_LINE = re.compile("[ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")
said = st.text(st.characters(codec=None)) | st.text("1.)-*?# \nresidual\"{}[]:,'`<>/|") | markdown()


@settings(max_examples=300, deadline=None)
@given(said, st.sampled_from([["questions"], ["summary"], list(BOTH)]))
@example("", ["questions"])
@example("\ud800?", ["questions"])
def test_whatever_passes_is_a_line_and_nothing_but_our_errors_is_raised(text, wanted):
    for reply in (text, json.dumps({"questions": [text, f"Residual {text}?"], "summary": f"A residual is {text}."})):
        try:
            found = check_reply(reply, RESIDUALS, wanted)
        except ModelError:
            continue
        for line in [*found.questions, *filter(None, [found.summary])]:
            assert ONE_LINE.fullmatch(line)
            assert line == line.strip()
        assert all(found.refused.get(key) or getattr(found, key) for key in wanted)


@pytest.mark.parametrize(
    "unit",
    ["a", "? ", "1. ", "- residual?\n", '"', "<", "[", "{", "( ", "residual ", "Was ist das? ", "\n", "`", "$", "„", "残", "ก",
     "Q 1 : ", "<|", "\ud800", "e\u0301", "*_", '{"questions": ["', "Summary: "],
)  # fmt: skip
def test_a_long_reply_takes_no_longer(unit):
    text = unit * (100_000 // len(unit))
    with at_most(seconds=4):
        for reply in (text, json.dumps({"questions": [text[:4_900]] * 12, "summary": text[:4_900]})):
            try:
                check_reply(reply, RESIDUALS, BOTH)
            except ModelError:
                continue


def test_escapes_of_terminals_are_no_part_of_a_question():
    assert kept("What is a \x1b[31mresidual\x1b[0m?\x1b]0;title\x07") == ["What is a residual?"]


@pytest.mark.parametrize(
    "said",
    [
        "As an AI language model, I cannot tell what a residual is.",
        "As an AI made to help, I do not judge what a residual is.",
        "I'm sorry, but I can't say what a residual is.",
    ],
)
def test_refusals_are_no_summaries(said):
    assert echo_in(said) == "is a refusal"
