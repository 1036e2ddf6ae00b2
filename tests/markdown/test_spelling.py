"""Native blocks, fenced divs and comments: one thing, written in three ways."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import MarkdownError
from lmm_core.markdown import MetadataBlock, convert, parse_markdown_text, serialize_blocks
from lmm_core.markdown.spelling import make_block, settle_safely
from tests.strategies import markdown, outside_metadata, squeezed

NATIVE = "---\nquestions: What is a linear model?\n---\n"
DIV = "::: {.lmm .content-hidden}\n``` yaml\nquestions: What is a linear model?\n```\n:::\n"


def converted(text, to):
    """Return the text in another spelling, or None where something is not closed."""
    try:
        return serialize_blocks(convert(parse_markdown_text(text), to))
    except MarkdownError:
        return None


def metadata(text):
    return [block for block in parse_markdown_text(text) if isinstance(block, MetadataBlock)]


def contents(text):
    return [block.content for block in metadata(text)]


def made(body):
    return f"# h\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{body}```\n:::\n\ntext\n"


@pytest.mark.parametrize(
    ("before", "to", "after"),
    [
        (f"text\n\n{NATIVE}\n## h\n", "div", f"text\n\n{DIV}\n## h\n"),
        (f"text\n\n{DIV}\n## h\n", "native", f"text\n\n{NATIVE}\n## h\n"),
        ("# h\n\n:::: {.lmm #x}\n\n~~~~{.yml}\na: 1\n~~~~\n\n::::\n\ntext\n", "div", made("a: 1\n")),
        ("\ufeff--- # mine\ntitle: T\n---\n\ntext\n", "div", "\ufeff---\n# mine\ntitle: T\n---\n\ntext\n"),
        (f"# h\n{NATIVE}text\n", "div", f"# h\n\n{DIV}\ntext\n"),
        (f"text\n\n{NATIVE}"[:-1], "div", f"text\n\n{DIV}"),
        (f"# h\n\n{NATIVE}".replace("\n", "\r\n"), "div", f"# h\n\n{DIV}".replace("\n", "\r\n")),
    ],
    ids=["native", "div", "markers", "of the header", "no blank lines", "end", "CRLF"],
)  # fmt: skip
def test_what_is_written(before, to, after):
    assert converted(before, to) == after


@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("---\ntitle: T\n---\n\ntext\n", "div"),
        ("# h\n\n---\na: [\n---\n\ntext\n", "div"),
        (f"{DIV}\n# h\n", "native"),
        (made("\na: 1\n"), "native"),
    ],
    ids=["the header", "an error block", "it would be the header", "a blank line"],
)
def test_what_stays_as_it_is(text, to):
    assert converted(text, to) == text


def test_a_fence_is_longer_than_any_run_in_the_body():
    text = "# h\n\n---\na: |\n  ````\n  code\n  ````\n---\n\ntext\n"
    assert "\n````` yaml\n" in converted(text, "div")
    assert contents(converted(text, "div")) == contents(text)


@given(markdown(), st.sampled_from([*permutations(("native", "div", "comment"), 2)]))
def test_converting_there_and_back_keeps_text_and_bodies(text, spellings):
    one, other = spellings
    there = converted(text, one)
    back = there and converted(there, other)
    for result in filter(None, (there, back)):
        assert squeezed(outside_metadata(result)) == squeezed(outside_metadata(text))
        assert contents(result) == contents(text)
    if there is not None:
        assert converted(there, one) == there
    if again := back and converted(back, one):
        assert converted(again, other) == back, "from the second time on, there and back is the identity"
        assert [block.body for block in metadata(again)] == [block.body for block in metadata(back)]


def test_a_new_div_does_not_close_a_code_fence_left_open():
    before = parse_markdown_text("# A\n\n```\nnot closed\n\n# B\n\nend\n")
    with pytest.raises(MarkdownError, match="is not closed"):
        settle_safely(before, [*before[:-1], make_block("a: 1\n", "div"), before[-1]])
