"""From text to blocks and back."""

import pytest
from hypothesis import given

from lmm_core.markdown import (
    ErrorBlock,
    FrontMatterBlock,
    HeaderBlock,
    HeadingBlock,
    MetadataBlock,
    TextBlock,
    parse_markdown_text,
    serialize_blocks,
)
from tests.strategies import any_text, markdown


def kinds(text):
    """The blocks of a text in short: `#2` for a heading of level 2, else the first letters."""
    names = {
        HeaderBlock: "header",
        MetadataBlock: "meta",
        TextBlock: "text",
        ErrorBlock: "error",
        FrontMatterBlock: "front",
    }
    return " ".join(
        f"#{block.level}" if isinstance(block, HeadingBlock) else names[type(block)]
        for block in parse_markdown_text(text)
    )


def problems(text):
    """Line and message of each problem of a text."""
    found = []
    parse_markdown_text(text, found)
    return [(problem.line, problem.message) for problem in found]


# Nothing is lost


@given(any_text)
def test_any_text_comes_back_byte_for_byte(text):
    assert serialize_blocks(parse_markdown_text(text)) == text


@given(markdown())
def test_markdown_comes_back_byte_for_byte(text):
    assert serialize_blocks(parse_markdown_text(text)) == text


@given(markdown().filter(lambda text: text.strip("\ufeff \t\r\n")))
def test_every_block_knows_its_line(text):
    at = 0
    for number, block in enumerate(parse_markdown_text(text)):
        assert text.startswith(block.source, at)
        lead = block.source[: len(block.source) - len(block.source.removeprefix("\ufeff").lstrip(" \t\r\n"))]
        assert block.line == 1 + text.count("\n", 0, at) + (lead.count("\n") if number == 0 else 0)
        at += len(block.source)


@given(markdown())
def test_no_block_is_empty(text):
    assert all(block.source for block in parse_markdown_text(text))


@given(markdown())
def test_a_metadata_block_holds_its_body(text):
    for block in parse_markdown_text(text):
        if isinstance(block, MetadataBlock):
            assert block.source[block.start : block.end] == block.body
            assert block.body == "" or block.body.endswith("\n")


@given(any_text.filter(lambda text: "\r" not in text))
def test_line_ends_do_not_change_what_is_what(text):
    assert kinds(text) == kinds(text.replace("\n", "\r\n"))


def test_the_empty_string_is_the_empty_list():
    assert parse_markdown_text("") == []


@pytest.mark.parametrize("text", ["\n", "  ", " \n\t\n", "\ufeff", "\r\n\r\n"])
def test_blank_text_is_one_text_block(text):
    assert [block.source for block in parse_markdown_text(text)] == [text]


# Headings


@pytest.mark.parametrize("level", range(1, 7))
def test_headings_have_six_levels(level):
    assert kinds("#" * level + " h\n") == f"#{level}"


def test_seven_signs_are_no_heading():
    assert kinds("####### h\n") == "text"


def test_a_sign_without_blank_is_no_heading():
    assert kinds("#h\n") == "text"


def test_an_indented_heading_is_text():
    assert kinds(" # h\n") == "text"


def test_heading_under_paragraph_is_text():
    assert kinds("text\n# x\n") == "text"


def test_heading_after_a_blank_line_under_a_paragraph_is_a_heading():
    assert kinds("text\n\n# x\n") == "text #1"


def test_heading_under_heading_needs_no_blank_line():
    assert kinds("# a\n## b\ntext\n") == "#1 #2 text"


@pytest.mark.parametrize("underline", ["===", "---", "-", "="])
def test_setext_headings_are_text(underline):
    assert kinds(f"Title\n{underline}\n\ntext\n") == "text text"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# A title", "A title"),
        ("#   A title   ", "A title"),
        ("# A title ##", "A title"),
        ("# A # title", "A # title"),
        ("# A {#id .c k=v}", "A"),
        ("# A {-}", "A"),
        ("# f(x) = {x}", "f(x) = {x}"),
        ("# C#", "C#"),
        ("#", ""),
        ("# ##", ""),
        ("# *A* `b`", "*A* `b`"),
    ],
)
def test_titles(source, title):
    assert parse_markdown_text(source + "\n")[0].title == title


def test_heading_attributes():
    found = parse_markdown_text('## A {#sec-a .unlisted k="v w"}\n')[0].attributes
    assert (found.identifier, found.classes, found.pairs) == ("sec-a", ["unlisted"], {"k": "v w"})


# Metadata blocks


def test_a_block_at_the_very_start_is_the_header():
    assert kinds("---\ntitle: T\n---\n\ntext\n") == "header text"


@pytest.mark.parametrize("lead", ["\ufeff", "\n\n", "\ufeff\n"])
def test_a_header_may_have_a_mark_or_blank_lines_before_it(lead):
    assert kinds(lead + "---\ntitle: T\n---\n") == "header"


def test_a_div_at_the_very_start_is_no_header():
    assert kinds("::: lmm\n```yaml\na: 1\n```\n:::\n") == "meta"


def test_a_block_after_a_blank_line():
    assert kinds("text\n\n---\na: 1\n---\n\n# h\n") == "text meta #1"


def test_a_block_directly_after_a_heading_and_after_a_block():
    assert kinds("# h\n---\na: 1\n---\n---\nb: 1\n---\ntext\n") == "#1 meta meta text"


def test_dots_close_a_block():
    assert kinds("text\n\n---\na: 1\n...\ntext\n") == "text meta text"


def test_a_remark_on_the_opening_marker():
    block = parse_markdown_text("text\n\n--- # by hand\na: 1\n---\n")[1]
    assert (type(block), block.content) == (MetadataBlock, {"a": 1})


def test_blank_lines_inside_a_block():
    assert parse_markdown_text("---\na: 1\n\nb: 2\n---\n")[0].content == {"a": 1, "b": 2}


def test_a_block_whose_first_line_is_blank_is_none():
    assert "meta" not in kinds("text\n\n---\n\na: 1\n---\n")


def test_a_rule_alone_is_text():
    assert kinds("text\n\n---\n\ntext\n") == "text text text"


def test_markers_under_a_paragraph_belong_to_it():
    assert kinds("text\n---\na: 1\n---\n") == "text"


def test_a_body_that_is_no_mapping_is_text():
    assert kinds("text\n\n---\none two\n---\n") == "text text"


def test_a_simple_table_is_text():
    assert kinds("text\n\n---------\na    b\n---------\n") == "text text"


def test_an_unclosed_block_is_text_and_reported():
    text = "text\n\n---\nkey: value\n\n# h\n\nmore\n"
    assert kinds(text) == "text text #1 text"
    assert [line for line, _ in problems(text)] == [3]


def test_a_table_between_rules_that_never_close_is_not_reported():
    assert problems("text\n\n---\nprose\n\nmore\n") == []


# Broken blocks


def test_broken_yaml_is_an_error_block_with_its_line():
    block = parse_markdown_text("# h\n\n---\na: 1\nquestions: [broken\n---\n\ntext\n")[1]
    assert type(block) is ErrorBlock
    assert block.line == 3
    assert block.error_line in (5, 6)
    assert block.message.startswith("invalid YAML")


def test_an_error_block_is_kept_as_it_is():
    source = "---\nquestions: [broken\n---\n"
    assert parse_markdown_text("# h\n\n" + source)[1].source == source


def test_a_block_that_swallows_a_heading_is_not_closed():
    blocks = parse_markdown_text("# h\n\n---\nkey: [a\n\n# b\n\ntext\n\n---\n")
    assert [type(block) for block in blocks][:3] == [HeadingBlock, ErrorBlock, HeadingBlock]
    assert "not closed" in blocks[1].message


def test_a_metadata_div_that_holds_prose_is_an_error_block():
    block = parse_markdown_text("# h\n\n::: lmm\nprose\n:::\n")[1]
    assert (type(block), block.error_line) == (ErrorBlock, 3)


def test_the_line_of_an_error_in_a_div():
    block = parse_markdown_text("# h\n\n::: lmm\n\n```yaml\na: 1\nb: [\n```\n:::\n")[1]
    assert type(block) is ErrorBlock
    assert block.error_line in (7, 8)


def test_a_div_that_is_no_mapping_is_an_error_block():
    assert kinds("# h\n\n::: lmm\n```yaml\n- a\n```\n:::\n") == "#1 error"


# Divs


@pytest.mark.parametrize(
    "div",
    [
        "::: lmm\n```yaml\na: 1\n```\n:::\n",
        ":::lmm\n```yaml\na: 1\n```\n:::\n",
        "::: {.lmm}\n``` yaml\na: 1\n```\n:::\n",
        "::: {.lmm .content-hidden}\n``` yaml\na: 1\n```\n:::\n",
        ":::::: {#x .content-hidden .lmm k=v}\n````{.yaml}\na: 1\n````\n::::::\n",
        "::: lmm\n\n~~~ yml\na: 1\n~~~\n\n:::\n",
        "::: lmm :::\n```yaml\na: 1\n```\n:::\n",
    ],
)
def test_divs_that_are_read(div):
    blocks = parse_markdown_text("text\n\n" + div)
    assert [type(block) for block in blocks] == [TextBlock, MetadataBlock]
    assert (blocks[1].content, blocks[1].spelling, blocks[1].body) == ({"a": 1}, "div", "a: 1\n")


def test_other_divs_are_text():
    assert kinds("::: lmmx\n```yaml\na: 1\n```\n:::\n") == "text"


def test_a_metadata_div_under_a_paragraph_is_text_and_reported():
    text = "text\n::: lmm\n```yaml\na: 1\n```\n:::\n"
    assert kinds(text) == "text"
    assert [(line, "blank line before" in message) for line, message in problems(text)] == [(2, True)]


# Pandoc's title block


def test_title_lines_are_front_matter():
    assert kinds("% My notes\n% A. Teacher\n\n# h\n") == "front #1"


def test_no_header_stands_after_title_lines():
    assert kinds("% My notes\n\n---\ntitle: T\n---\n\ntext\n") == "front meta text"


@pytest.mark.parametrize(
    "block",
    ["---\n---\n", "---\n...\n", "---\n  # a remark\na: 1\n---\n"],
    ids=["empty", "empty, dots", "indented remark first"],
)
def test_the_first_line_of_a_block_counts(block):
    found = parse_markdown_text(f"A\n\n{block}\nB\n\n---\n\nC\n")
    assert [one.source for one in found] == ["A\n\n", f"{block}\n", "B\n\n", "---\n\n", "C\n"]
    assert isinstance(found[1], MetadataBlock)


@pytest.mark.parametrize("block", ["::: lmm\n``` yaml\na: 1\n```\n:::\n", "---\na: 1\n---\n", "# Heading\n"])
def test_a_block_directly_after_code_is_one(block):
    found = parse_markdown_text(f"```\ncode\n```\n{block}\ntext\n")
    assert [one.source for one in found] == ["```\ncode\n```\n", f"{block}\n", "text\n"]
