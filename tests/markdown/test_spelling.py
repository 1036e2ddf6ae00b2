"""Native blocks, fenced divs and comments: one thing, written in three ways."""

from itertools import permutations

import pytest
from hypothesis import given

from lmm_core.errors import MarkdownError
from lmm_core.markdown import MetadataBlock, convert, parse_markdown_text, serialize_blocks, spelling
from lmm_core.markdown.spelling import make_block, settle_safely
from tests.strategies import markdown, outside_metadata, squeezed

SPELLINGS = ("native", "div", "comment")
NATIVE = "---\nquestions: What is a linear model?\n---\n"
DIV = "::: {.lmm .content-hidden}\n``` yaml\nquestions: What is a linear model?\n```\n:::\n"


def converted(text, to):
    return serialize_blocks(convert(parse_markdown_text(text), to))


def can_be_converted(text, to):
    try:
        return converted(text, to)
    except MarkdownError:
        return None


def contents(text):
    return [block.content for block in parse_markdown_text(text) if isinstance(block, MetadataBlock)]


def bodies(text):
    return [block.body for block in parse_markdown_text(text) if isinstance(block, MetadataBlock)]


def test_native_to_div():
    assert converted(f"text\n\n{NATIVE}\n## h\n", "div") == f"text\n\n{DIV}\n## h\n"


def test_div_to_native():
    assert converted(f"text\n\n{DIV}\n## h\n", "native") == f"text\n\n{NATIVE}\n## h\n"


def test_the_header_stays_native():
    assert converted("---\ntitle: T\n---\n\ntext\n", "div") == "---\ntitle: T\n---\n\ntext\n"


def test_a_div_at_the_very_start_does_not_become_the_header():
    assert converted(DIV + "\n# h\n", "native") == DIV + "\n# h\n"


def test_markers_are_normalised():
    text = ":::: {.lmm #x}\n\n~~~~{.yml}\na: 1\n~~~~\n\n::::\n\ntext\n"
    assert converted("# h\n\n" + text, "div") == "# h\n\n::: {.lmm .content-hidden}\n``` yaml\na: 1\n```\n:::\n\ntext\n"


def test_dots_become_a_marker():
    assert converted(converted("# h\n\n---\na: 1\n...\n\ntext\n", "div"), "native") == "# h\n\n---\na: 1\n---\n\ntext\n"


def test_a_remark_is_kept():
    assert "# by hand" in converted("# h\n\n--- # by hand\na: 1\n---\n\ntext\n", "div")


def test_a_blank_line_is_written_around_a_converted_block():
    assert converted(f"# h\n{NATIVE}text\n", "div") == f"# h\n\n{DIV}\ntext\n"


def test_the_number_of_blank_lines_after_a_block_stays():
    assert converted(f"# h\n\n{NATIVE}\n\n\ntext\n", "div") == f"# h\n\n{DIV}\n\n\ntext\n"


@pytest.mark.parametrize("body", ["\na: 1\n", "a: |\n  x\n---\n", "a: 1\n...\n"])
def test_what_native_markers_cannot_hold_stays_a_div(body):
    text = f"# h\n\n::: {{.lmm .content-hidden}}\n``` yaml\n{body}```\n:::\n\ntext\n"
    if len(contents(text)) == 1:
        assert converted(text, "native") == text


def test_a_body_that_starts_blank_stays_a_div():
    text = "# h\n\n::: {.lmm .content-hidden}\n``` yaml\n\na: 1\n```\n:::\n\ntext\n"
    assert converted(text, "native") == text


def test_a_fence_is_longer_than_any_run_in_the_body():
    text = "# h\n\n---\na: |\n  ````\n  code\n  ````\n---\n\ntext\n"
    assert "\n````` yaml\n" in converted(text, "div")
    assert contents(converted(text, "div")) == contents(text)


def test_crlf_stays():
    text = f"# h\n\n{NATIVE}\ntext\n".replace("\n", "\r\n")
    assert converted(text, "div") == f"# h\n\n{DIV}\ntext\n".replace("\n", "\r\n")


@pytest.mark.parametrize("lead", ["\ufeff", "\n\n", "\ufeff\n"])
def test_what_stands_before_a_first_div_stays(lead):
    assert converted(f"{lead}::: lmm\n```yaml\na: 1\n```\n:::\n\ntext\n", "div").startswith(lead + ":::")


@pytest.mark.parametrize("text", ["# h\n\n\ufefftext\n", "---\ntitle: T\n---\n\n\ufefftext\n"])
def test_a_mark_in_the_middle_is_the_writers(text):
    assert converted(text, "div") == text


def test_error_blocks_stay_as_they_are():
    text = "# h\n\n---\na: [\n---\n\ntext\n"
    assert converted(text, "div") == text


def test_metadata_at_the_end():
    assert converted(f"text\n\n{NATIVE.removesuffix(chr(10))}", "div").rstrip("\n") == f"text\n\n{DIV}".rstrip("\n")


@given(markdown())
def test_converting_there_and_back_keeps_text_and_bodies(text):
    for one, other in permutations(SPELLINGS, 2):
        there = can_be_converted(text, one)
        back = there if there is None else can_be_converted(there, other)
        for result in filter(None, (there, back)):
            assert squeezed(outside_metadata(result)) == squeezed(outside_metadata(text))
            assert contents(result) == contents(text)


@given(markdown())
def test_converting_twice_is_converting_once(text):
    for to in ("div", "native", "comment"):
        once = can_be_converted(text, to)
        if once is not None:
            assert converted(once, to) == once


@given(markdown())
def test_there_and_back_is_the_identity_from_the_second_time_on(text):
    for one, other in permutations(SPELLINGS, 2):
        once = can_be_converted(text, one)
        back = once and can_be_converted(once, other)
        there = back and can_be_converted(back, one)
        if there:
            assert converted(there, other) == back
            assert bodies(there) == bodies(back)


def test_a_new_div_does_not_close_a_code_fence_left_open():
    before = parse_markdown_text("# A\n\n```\nnot closed\n\n# B\n\nend\n")
    with pytest.raises(MarkdownError, match="is not closed"):
        settle_safely(before, [*before[:-1], make_block("a: 1\n", "div"), before[-1]])


def test_a_remark_behind_the_opening_of_a_header_stays_behind_a_byte_order_mark():
    text = "\ufeff--- # mine\ntitle: T\n---\n\ntext\n"
    assert converted(text, "div") == "\ufeff---\n# mine\ntitle: T\n---\n\ntext\n"


def test_a_text_that_has_not_changed_is_not_parsed_again(monkeypatch):
    blocks = parse_markdown_text("---\ntitle: A\n---\n\n# B\n\nText.\n")
    monkeypatch.setattr(spelling, "parse_markdown_text", None)
    assert settle_safely(blocks, blocks) == blocks
