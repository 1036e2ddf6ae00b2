"""Validation of what models say: good annotations pass, and the good part of a mixed reply is kept; answers are
stopped when they repeat themselves or the prompt, and not before."""

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from lmm_core.errors import CutOffError
from lmm_core.models.annotators.annotator import AnnotatorSection
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.models.validation import AnswerWatch, check_reply
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
    ["", "test-prep", "Residuals?", "Question 1?", "<|im_end|>?", "</notes> What is a residual?", "why why why? " * 12],
)
def test_what_is_no_question_is_refused(said):
    assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "summary",
        "A residual is a difference<|im_end|> of two values.",
        "A residual is a difference of two values. A residual is a difference of two values.",
    ],
)
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
        ("ar", "البواقي", "الباقي هو الفرق بين القيمة المشاهدة والقيمة التي يتنبأ بها النموذج.", "كيف نحسب الفرق بين القيم؟"),
    ],
)  # fmt: skip
def test_questions_in_other_languages_and_scripts(language, titles, text, question):
    assert kept(question, section=AnnotatorSection((titles,), text, (), language)) == [question]


# The forms in which replies come


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["1. What is a residual?", "2. Why should it scatter?"], ["What is a residual?", "Why should it scatter?"]),
        (["What is a residual?", "what is a  residual ?", "What is a residual?!"], ["What is a residual?"]),
        (["What is a \x1b[31mresidual\x1b[0m?\x1b]0;title\x07"], ["What is a residual?"]),
    ],
)
def test_questions_are_read_without_numbers_and_once(given, read):
    found = check_reply(json.dumps({"Questions": given}), RESIDUALS, ["questions"])
    assert found.questions == read
    assert not found.refused


def test_a_summary_is_read_without_its_label():
    said = "A residual is an observed value minus its prediction."
    assert checked(summary=f"**Summary:** {said}").summary == said


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


# Answers, while they come

PROMPT = '<notes>\n<source n="1">\nA mean is a sum.\n</source>\n<source n="2">\nA median halves.\n</source>\n</notes>\n\nWhat is a mean?'
LINES = "A residual is the difference between an observed value and the prediction of the model.\n"


def request(text=PROMPT):
    return Request((ChatMessage("system", "Be brief."), ChatMessage("user", text)))


def shown(answer, size=7, text=PROMPT):
    """Return what is shown of an answer that comes in parts, and why it is stopped, or ""."""
    seen = []
    watch = AnswerWatch(request(text)).around(seen.append)
    try:
        for at in range(0, len(answer), size):
            watch(answer[at : at + size])
    except CutOffError as error:
        return "".join(seen), str(error)
    return "".join(seen), ""


GOOD = [
    "A mean is the sum of the values by their number [1].",
    "\\begin{pmatrix}" + "0 & 0 & 0 & 0 & 0 \\\\\n" * 10 + "\\end{pmatrix}",
    "```html\n<notes>\n<source n=1>\n</notes>\n```\nThis is how the tags look.",
    "\n".join(f"- Step {n}: put the value {n} into the formula and write down what comes out." for n in range(40)),
    LINES * 3,
]


@pytest.mark.parametrize("answer", GOOD, ids=range(len(GOOD)))
def test_a_good_answer_is_shown_whole(answer):
    for size in (1, 7, 10_000):
        assert shown(answer, size) == (answer, "")
    assert AnswerWatch(request()).check(answer) == answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("The text is a file of words. " * 40, "it repeats itself: “"),
        (LINES * 40, "it repeats itself: “"),
        ('It is a sum [1].\n<source n="2">\nA mode is', "it holds parts of the prompt (<source n=)"),
        ("It is a sum.<|im_end|>\n<|im_start|>user", "it holds parts of the prompt (<|im_end|>)"),
        (
            "Where the passages do not answer the question, begin the reply with the word NO_ANSWER and say what.\n",
            "it repeats what the model was told to do",
        ),
    ],
)
def test_an_answer_that_goes_wrong_is_refused(answer, why):
    with pytest.raises(CutOffError) as error:
        AnswerWatch(request()).check(answer)
    assert why in str(error.value)
    assert error.value.text == answer
    seen, said = shown(answer + "It is a sum. " * 200)
    assert why in said or "repeats itself" in said
    assert len(seen) < len(answer) + 600


def test_a_loop_is_stopped_early():
    seen, _ = shown("It is a sum. " + LINES * 1_000)
    assert len(seen) < 13 + 9 * len(LINES)


def test_what_the_notes_are_about_is_no_part_of_the_prompt():
    text = "<text>\nA message ends with <|im_end|>.\n</text>\n\nWhat ends a message?"
    assert shown("<|im_end|>\nends it.", text=text)[1] == ""
