"""Comments that are meant as metadata and are none."""

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.mistakes import find_mistakes
from tests.commands import run
from tests.strategies import knitted

NEARLY, UNREADABLE = "near-miss", "unreadable-block"


def found(text):
    problems = []
    blocks = parse_markdown_text(text, problems)
    return [(one.line, one.code) for one in find_mistakes(CheckedDocument(blocks), problems)]


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("para\n<!-- lmm\ntype: exercise\n-->\n", NEARLY),
        ("  <!-- lmm\n  ?: Is it?\n  -->\n", NEARLY),
        ("- item\n  <!-- lmm\n  type: exercise\n  -->\n", NEARLY),
        ("<!--- lmm\ntype: exercise\n-->\n", NEARLY),
        ("<!-- LMM\n+: more\n-->\n", NEARLY),
        ("<!-- lmm: type: exercise -->\n", NEARLY),
        ("<!-- llm\nsummary: s\n-->\n", NEARLY),
        ("> <!-- lmm type: exercise -->\n", NEARLY),
        ("<!-- lmm\n=: shorter\n", NEARLY),
        ("<!-- lmm\na: [\n-->\n", UNREADABLE),
        ("<!-- lmm\nprose\n-->\n", UNREADABLE),
        ("<!-- lmm\na: b --> c\n-->\n", UNREADABLE),
        ("<!-- lmm\na: b --!> c\n-->\n", UNREADABLE),
        ("<!-- lmm\ntyp: exercise\n-->\n\ntext\n", NEARLY),
        ("> <!-- lmm\n> type: [\n> -->\n", UNREADABLE),
    ],
)
def test_a_comment_that_is_no_block_is_an_error(comment, code):
    ((_, said),) = found(f"# A\n\n{comment}")
    assert said == code


@pytest.mark.parametrize("item", ["- item", "1. item", "-   item", "* a\n    - b", "- a\n\n  b\nlazy", "[^1]: note"])
@pytest.mark.parametrize("columns", range(1, 11))
def test_a_comment_in_an_item_is_read_or_reported_or_code(item, columns):
    """Pandoc reads it as a block only where the item's text begins, and as inline text a bit to the right."""
    indent = " " * columns
    text = f"# A\n\nText[^1].\n\n{item}\n\n{indent}<!-- lmm\n{indent}type: exercise\n{indent}-->\n\n{indent}Secret.\n"
    is_code = '"CodeBlock"' in run("pandoc -t json", stdin=text).stdout.decode()
    is_left_out = "Secret" not in knitted(text)
    assert [bool(found(text)), is_left_out, is_code].count(True) == 1


@pytest.mark.parametrize(
    "text",
    [
        "<!-- a note: on this -->\n", "<!-- lm is nice -->\n", "<!-- lmm: note to self -->\n", "`<!-- lmm type: x -->`\n",
        "```\n<!-- lmm type: x -->\n```\n", "<!-- lmm\ntype: exercise\n-->\ntext\n", "- a\n\n  <!-- lmm\n  skip: true\n  -->\n\n  b\n",
        "<!--\nlmm: x\n-->\n", "    <!-- lmm\n    type: x\n    -->\n", "$$\n<!-- lmm type: x -->\n$$\n",
    ],
)  # fmt: skip
def test_other_comments_are_no_mistake(text):
    assert found(f"# A\n\nText.\n\n{text}") == []


def test_a_comment_is_text_unless_it_is_a_block():
    text = "# A\n\n<!-- lmm: type: exercise -->\n\nText.\n\n<!-- lmm is\nfine -->\n"
    assert knitted(text) == text
