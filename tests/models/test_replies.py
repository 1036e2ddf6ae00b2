"""What a model says, without its thoughts and the marks of servers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.replies import UnwrappedStream, unwrap

ANSWER = "The mean is a sum.\n\n- `a < b` [1]"
THOUGHTS = [
    "<think>\nHm.\n</think>\n\n",
    "[THINK]Hm.[/THINK]",
    "◁think▷Hm.◁/think▷",
    "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel>thought\nHm.\n<channel|>",
]
UNOPENED = ["Hm, first one.\n</think>\n\n", "Hm.[/THINK]\n", "Hm: ```python\nx\n</think>\n"]
ENDS = [
    "<|im_end|>", "<\uff5cend\u2581of\u2581sentence\uff5c>", " </s></s>", "[/INST]",
    "<|im_end|>\n<|im_start|>user\nAnd the median?<|im_end|>",
]  # fmt: skip
TEXTS = [
    "The tag `<think>` opens, `</think>` closes.",
    "```\n<think>\nHm.\n</think>\n```\n",
    '{"summary": "The tag <think> opens, </think> closes {}."}',
    " \n  indented\n\n",
    "",
]


@pytest.mark.parametrize("thoughts", ["", *THOUGHTS, *UNOPENED])
def test_thoughts_before_an_answer_go(thoughts):
    assert unwrap(f"{thoughts}{ANSWER}<|im_end|>") == ANSWER


@pytest.mark.parametrize("end", ENDS)
def test_marks_after_an_answer_go(end):
    assert unwrap(f"<think>Hm.</think>{ANSWER}{end}").rstrip() == ANSWER


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_said_stays(text):
    assert unwrap(text) == text


@pytest.mark.parametrize(
    "text", ["The template ends with </think>", "It ends in <|im_end|>", "a\n<think>\nb\n</think>\nc"]
)
def test_marks_that_stand_in_the_request_are_what_is_said(text):
    assert unwrap(text, request=f"Shorten: {text} now") == text


@pytest.mark.parametrize("opener", ["```markdown", "~~~md"])
@pytest.mark.parametrize("text", [ANSWER, f"{ANSWER}\n\n```r\nx\n```\n\n{ANSWER}"])
def test_a_fence_round_the_whole_answer_goes(opener, text):
    end = opener.rstrip("markdown")
    assert unwrap(f"<think>Hm.</think>{opener}\n{text}\n{end}\n<|im_end|>") == text
    assert unwrap(f"{opener}\n{text}\n{end}", request=opener) == f"{opener}\n{text}\n{end}"


@pytest.mark.parametrize(
    "text", ["```md\na\n```\nor\n```md\nb\n```", "```md\na\n```\nthis", "```r\nx\n```", "```md\na"]
)
def test_other_fences_are_what_is_said(text):
    assert unwrap(text) == text


@pytest.mark.parametrize(
    "text", ["<think>Hm.", "<think>Hm.</think>\n", "<|channel|>analysis<|message|>Hm.<|end|>", "<eos>"]
)
def test_thoughts_alone_say_nothing(text):
    assert unwrap(text) == ""


PARTS = [
    *THOUGHTS, *ENDS, *TEXTS, ANSWER, "```md\n", "\n```", "<", "think>", "\n", "user", "assistant", "a", "`", " ", "<|",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=5).map("".join), st.integers(1, 9))
def test_a_stream_shows_nothing_but_what_is_said(text, length):
    """In thoughts without their first tag it may: they are not known for such before they end."""
    shown = []
    stream = UnwrappedStream(shown.append, "")
    for at in range(0, len(text), length):
        stream.hear(text[at : at + length])
    stream.finish()
    if not any(unopened in text for unopened in ("</", "[/", "◁/", "<|END")):
        assert "".join(shown) == unwrap(text)
