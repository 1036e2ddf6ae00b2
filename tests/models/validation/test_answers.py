"""Answers are stopped when they repeat themselves or the prompt, and not before."""

import pytest

from lmm_core.errors import CutOffError
from lmm_core.models.chat import ChatMessage, Request
from lmm_core.models.validation import AnswerWatch
from tests.effort import at_most

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
    "| a | b |\n|---|---|\n" + "| yes | no |\n" * 12,
    "\\begin{pmatrix}" + "0 & 0 & 0 & 0 & 0 \\\\\n" * 10 + "\\end{pmatrix}",
    "```r\n" + "TRUE TRUE FALSE TRUE\n" * 8 + "```\n",
    "```html\n<notes>\n<source n=1>\n</notes>\n```\nThis is how the tags look.",
    "\n".join(f"- Step {n}: put the value {n} into the formula and write down what comes out." for n in range(40)),
    "Use <source src='a.mp4'> inside <video>.",
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
        ("残差是观测值与预测值之差。" * 20, "it repeats itself"),
        ('It is a sum [1].\n<source n="2">\nA mode is', "it holds parts of the prompt (<source n=)"),
        ("It is a sum.<|im_end|>\n<|im_start|>user", "it holds parts of the prompt (<|im_end|>)"),
        ("A file.\n<start_of_turn>user\nA", "it holds parts of the prompt (<start_of_turn>)"),
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


@pytest.mark.parametrize("mark", ["<|im_end|>", "<text>"])
def test_what_the_notes_are_about_is_no_part_of_the_prompt(mark):
    text = f"<text>\nA message ends with {mark}, as {mark} says.\n</text>\n\nWhat ends a message?"
    assert shown(f"{mark}\nends it.", text=text)[1] == ""


def test_a_text_that_repeats_itself_may_be_repeated():
    poem = "Nevermore, said the raven on the bust above my chamber door.\n" * 8
    assert shown(poem, text=f"<text>\n{poem}\n</text>\n\nMake it longer.")[1] == ""


@pytest.mark.parametrize("unit", ["a ", "`", "残"])
def test_any_answer_is_watched_in_time(unit):
    answer = "".join(f"{unit}{at if at % 3 else ''}" for at in range(10_000 // len(unit)))
    with at_most(seconds=2):
        shown(answer, size=20)
