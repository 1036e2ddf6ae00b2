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

NAMES = {
    HeaderBlock: "header",
    MetadataBlock: "meta",
    TextBlock: "text",
    ErrorBlock: "error",
    FrontMatterBlock: "front",
}


def kinds(text):
    """The blocks of a text in short: `#2` for a heading of level 2, else their names."""
    blocks = parse_markdown_text(text)
    return " ".join(f"#{block.level}" if isinstance(block, HeadingBlock) else NAMES[type(block)] for block in blocks)


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
def test_markdown_comes_back_and_every_block_knows_its_line_and_body(text):
    blocks, at = parse_markdown_text(text), 0
    for number, block in enumerate(blocks):
        assert block.source and text.startswith(block.source, at)
        lead = block.source[: len(block.source) - len(block.source.removeprefix("\ufeff").lstrip(" \t\r\n"))]
        if text.strip("\ufeff \t\r\n"):
            assert block.line == 1 + text.count("\n", 0, at) + (lead.count("\n") if number == 0 else 0)
        if isinstance(block, MetadataBlock):
            assert block.source[block.start : block.end] == block.body
            assert block.body == "" or block.body.endswith("\n")
        at += len(block.source)
    assert at == len(text)


@given(any_text.filter(lambda text: "\r" not in text))
def test_line_ends_do_not_change_what_is_what(text):
    assert kinds(text) == kinds(text.replace("\n", "\r\n"))


@pytest.mark.parametrize("text", [" \n\t\n", "\ufeff", "\r\n\r\n"])
def test_blank_text_is_one_text_block_and_the_empty_string_none(text):
    assert [block.source for block in parse_markdown_text(text)] == [text]
    assert parse_markdown_text("") == []


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x85", "\u2028"])
def test_only_line_feeds_end_lines(separator):
    assert kinds(f"---\ntitle: T\n---\n\ntext{separator}{separator}# no heading{separator}---\n") == "header text"


# What is what


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# h\n", "#1"),
        ("#h\n", "text"),
        ("text\n# x\n", "text"),
        ("# a\n## b\ntext\n", "#1 #2 text"),
        ("Title\n===\n\ntext\n", "text text"),
    ],
)
def test_headings(text, expected):
    assert kinds(text) == expected


@pytest.mark.parametrize("block", ["::: lmm\n``` yaml\nx: 1\n```\n:::", "---\nx: 1\n---", "<!-- lmm\nx: 1\n-->"])
def test_a_table_ends_before_a_metadata_block(block):
    assert kinds("--- ---\na   b\n\nc   d\n--- ---\n\ntext\n") == "text text"
    assert kinds(f"--- ---\na   b\n\n{block}\n\ntext\n\n---\n") == "text meta text text"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("#   A title   ", "A title"),
        ("# A title ##", "A title"),
        ("# A {#id .c k=v}", "A"),
        ("# C#", "C#"),
    ],
)
def test_titles(source, title):
    assert parse_markdown_text(source + "\n")[0].title == title


def test_heading_attributes():
    found = parse_markdown_text('## A {#sec-a .unlisted k="v w"}\n')[0].attributes
    assert (found.identifier, found.classes, found.pairs) == ("sec-a", ["unlisted"], {"k": "v w"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: T\n---\n\ntext\n", "header text"),
        ("::: lmm\n```yaml\na: 1\n```\n:::\n", "meta"),
        ("text\n\n---\na: 1\n---\n\n# h\n", "text meta #1"),
        ("# h\n---\na: 1\n---\n---\nb: 1\n---\ntext\n", "#1 meta meta text"),
        ("text\n\n---  \na: 1\n...\t\ntext\n", "text meta text"),
        ("text\n\n---\na: 1\n\nb: 2\n---\n", "text meta"),
        ("text\n\n---\n\na: 1\n---\n", "text text text"),
        ("text\n---\na: 1\n---\n", "text"),
        ("text\n\n---------\na    b\n---------\n", "text text"),
        ("::: lmmx\n```yaml\na: 1\n```\n:::\n", "text"),
        ("# h\n\n::: lmm\nprose\n:::\n", "#1 error"),
        ("---\ntitle A\nknit: false\n---\n\ntext\n", "error text"),
        ("```\ncode\n```\n---\na: 1\n---\n", "text meta"),
    ],
)
def test_metadata(text, expected):
    assert kinds(text) == expected


@pytest.mark.parametrize(
    "div",
    [
        ":::lmm\n```yaml\na: 1\n```\n:::\n",
        ":::::: {#x .content-hidden .lmm k=v}\n````{.yaml}\na: 1\n````\n::::::\n",
        "::: lmm\n\n~~~ yml\na: 1\n~~~\n\n:::\n",
    ],
)
def test_divs_that_are_read(div):
    blocks = parse_markdown_text("text\n\n" + div)
    assert [type(block) for block in blocks] == [TextBlock, MetadataBlock]
    assert (blocks[1].content, blocks[1].spelling, blocks[1].body) == ({"a": 1}, "div", "a: 1\n")


# What cannot be read


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("text\n\n---\nkey: value\n\n# h\n\nmore\n", [3]),
        ("text\n\n---\nprose\n\nmore\n", []),
        ("text\n::: lmm\n```yaml\na: 1\n```\n:::\n", [2]),
    ],
    ids=["a block that is not closed", "a rule", "a div under a paragraph"],
)
def test_what_is_text_and_was_meant_as_a_block_is_reported(text, reported):
    assert "meta" not in kinds(text)
    assert [line for line, _ in problems(text)] == reported


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        ("---\na: 1\nquestions: [broken\n---\n", {5, 6}),
        ("::: lmm\n\n```yaml\na: 1\nb: [\n```\n:::\n", {7, 8}),
    ],
)
def test_broken_yaml_is_an_error_block_with_its_line(block, lines):
    error = parse_markdown_text(f"# h\n\n{block}\ntext\n")[1]
    assert isinstance(error, ErrorBlock)
    assert (error.line, error.source) == (3, block + "\n")
    assert error.error_line in lines
    assert error.message.startswith("invalid YAML")
