"""What is never cut nor searched, and what is not closed."""

import pytest

from lmm_core.markdown import HeadingBlock, MetadataBlock, parse_markdown_text

INSIDE = "\n# no heading\n\n---\nkey: value\n---\n\n# none either\n"

REGIONS = {
    "more backticks": "`````sh\n```\n{}```\n`````\n",
    "a comment": "<!--\n{}-->\n",
    "a comment in a paragraph": "text <!-- and\n{}--> text\n",
    "script": "<script>\n{}</script>\n",
    "nested div": "<div>\n<div>\n{}</div>\n\n# x\n</div>\n",
    "environment": "\\begin{{align*}}\n{}\\end{{align*}}\n",
    "fenced div": "::: note\n{}:::\n",
    "fenced div with code": "::: note\n```\n:::\n{}```\n{}:::\n",
}


def titles(text):
    return [block.title for block in parse_markdown_text(text) if isinstance(block, HeadingBlock)]


def contents(text):
    return [block.content for block in parse_markdown_text(text) if isinstance(block, MetadataBlock)]


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS.keys())
def test_nothing_inside_is_a_heading_or_metadata(region):
    text = "# one\n\n" + region.replace("{}", INSIDE).replace("{{", "{").replace("}}", "}") + "\n# two\n"
    assert titles(text) == ["one", "two"]
    assert contents(text) == []
    assert len(parse_markdown_text(text)) == 3


OPENERS = [
    "```", "text <!-- starts", "<div>", "<?php", "<![CDATA[", "$$", "\\begin{align}", "::: note",
    ":::: a\n::: b\n:::", "::: lmm\n```yaml\na: 1", "- ```", "`", "---",
]  # fmt: skip


@pytest.mark.parametrize("opener", OPENERS)
def test_what_is_not_closed_swallows_nothing(opener):
    text = f"# one\n\n{opener}\n\n# two\n\n---\nkey: value\n---\n\n# three\n"
    assert titles(text) == ["one", "two", "three"]
    assert contents(text) == [{"key": "value"}]


@pytest.mark.parametrize(
    ("opener", "named"),
    [("```", "code fence"), ("<!--", "comment"), ("::: note", "fenced div"), ("<pre>", "<pre>")],
)
def test_what_is_not_closed_is_reported_with_its_line(opener, named):
    problems = []
    parse_markdown_text(f"# one\n\ntext\n\n{opener}\n\n# two\n", problems)
    assert [problem.line for problem in problems] == [5]
    assert named in problems[0].message


def test_what_is_closed_is_not_reported():
    problems = []
    text = "".join(region.replace("{}", "text\n").replace("{{", "{").replace("}}", "}") for region in REGIONS.values())
    parse_markdown_text(text, problems)
    assert problems == []


@pytest.mark.parametrize(
    "text",
    [
        "$$\nx\n\n# yes\n\n$$\n",
        "````\n```\n\n# no\n````\n\n# yes\n",
        "write `<!--` here\n\n# yes\n\n-->\n",
        "A. Smith <!-- b\n\n# no\n\n-->\n\n# yes\n",
    ],
)
def test_where_a_region_ends(text):
    assert titles(text) == ["yes"]


@pytest.mark.parametrize(
    "text",
    ["$$\n# x\n---\n$$\n\n", "    # a\n\n    # b\n\n", "- one\n\n  more\n\n- two\n\n      code\n\n"],
    ids=["math", "indented code", "a list"],
)
def test_one_text_is_not_cut(text):
    assert [block.source for block in parse_markdown_text(text + "end\n")] == [text, "end\n"]


@pytest.mark.parametrize("item", ["> a", "| a", "1. a", "- a\n\n  b", "(@) a", "[^1]: a", "term\n:   a"])
def test_a_comment_does_not_leave_its_item(item):
    """For Pandoc it is text there; what stands below it, an exercise's block for one, is none of it."""
    assert contents(f"{item} <!-- b\n\n---\ntype: exercise\n---\n\ntext\n\n-->\n") == [{"type": "exercise"}]


@pytest.mark.parametrize("item", ["- item", "(@) item", "[^1]: note", "term\n\n:   definition"])
def test_headings_in_items_are_text(item):
    text = f"{item}\n\n    # no heading\n\n# yes\n"
    assert titles(text) == ["yes"]
