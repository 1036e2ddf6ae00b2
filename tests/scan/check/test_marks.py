"""Text that looks like a mark of ours but has no effect is reported, since it would show an exercise."""

from pathlib import Path

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.scan.check.mistakes import find_mistakes, read_documents, typo_lines
from lmm_core.scan.check.near_misses import find_near_misses
from tests.commands import run, write
from tests.strategies import knitted

BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::\n"


def reports(text, **rules):
    """Return line and message of each report."""
    return [(report.line, report.message) for report in find_near_misses(parse_markdown_text(text), KnitRules(**rules))]


def codes(text):
    """Return the code of each mistake."""
    problems = []
    blocks = parse_markdown_text(text, problems)
    return [mistake.code for mistake in find_mistakes(CheckedDocument(blocks), problems)]


# Keys that stand in no block

KEYS_IN_NO_BLOCK = {
    "a blank line below the rule": ("---\n\ntype: exercise\n---", 7),
    "indented": (" ---\n type: exercise\n ---", 6),
    "dashes of a word processor": ("\u2014\ntype: exercise\n\u2014", 6),
    "in a div": ("::: note\n ---\n type: exercise\n ---\n\nText.\n:::", 7),
    "directly under a text": ("Text.\n---\ntype: exercise\n---", 6),
    "an equals sign": ("---\nnote = x\nfrozen = True\n---\n\nText.", 7),
    "a comment": ("<!--\ntype: [exercise, topic]\n-->", 5),
    "a code block": ("```yaml\ntype: exercise\n```", 5),
    "an attribute of HTML": ('<div data-type="exercise">\n\nText.\n\n</div>', 5),
}


@pytest.mark.parametrize("case", KEYS_IN_NO_BLOCK)
def test_a_key_in_no_block_is_reported_and_stops_a_render_by_quarto(case):
    part, line = KEYS_IN_NO_BLOCK[case]
    text = f"# A\n\nText.\n\n{part}\n\nSECRET\n"
    assert [at for at, _ in reports(text)] == [line]
    write("notes.qmd", text)
    (page,) = read_documents([Path("notes.qmd")])
    assert typo_lines([("notes.qmd", page)], KnitRules())[0].startswith(f"notes.qmd:{line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "``` toml\n---\nfrozen = true\n---\n```\n",
        "---\n  a     b\n----- -----\n type = x\n---\n",
        "Text.\n\n***\ntype: an exercise\nwith prose\n***\n",
        "Text.\n\ntype: exercise\nsize: small\n\nText.\n",
    ],
)
def test_other_keys_and_rules_are_text(text):
    assert reports(text) == []


def test_an_allowed_key_is_meant():
    assert reports("# A\n\n***\ntype: exercise\n***\n\nText.\n", allowed=frozenset({"type"})) == []


# Comments

NEARLY, UNREADABLE = "near-miss", "unreadable-block"


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("para\n<!-- lmm\ntype: exercise\n-->\n", NEARLY),
        ("<!-- lmm: type: exercise -->\n", NEARLY),
        ("<!-- lmm\ntyp: exercise\n-->\n\ntext\n", NEARLY),
        ("<!-- lmm\na: [\n-->\n", UNREADABLE),
        ("> <!-- lmm\n> type: [\n> -->\n", UNREADABLE),
    ],
)
def test_a_comment_that_is_no_block_is_an_error(comment, code):
    assert codes(f"# A\n\n{comment}") == [code]


@pytest.mark.parametrize(
    "text",
    [
        "```\n<!-- lmm type: x -->\n```\n",
        "<!-- lmm\ntype: exercise\n-->\ntext\n",
        "- a\n\n  <!-- lmm\n  skip: true\n  -->\n\n  b\n",
    ],
)
def test_other_comments_are_no_mistake(text):
    assert codes(f"# A\n\nText.\n\n{text}") == []


def test_a_comment_in_an_item_is_read_or_reported_or_code():
    """Pandoc reads it as a block only where the item's text begins, and as inline text a bit to the right."""
    for item in ("1. item", "* a\n    - b", "[^1]: note"):
        for columns in range(1, 11):
            indent = " " * columns
            text = f"# A\n\nText[^1].\n\n{item}\n\n{indent}<!-- lmm\n{indent}type: exercise\n{indent}-->\n\n{indent}Secret.\n"
            is_left_out = "Secret" not in knitted(text)
            if bool(codes(text)) == is_left_out:
                is_code = b'"CodeBlock"' in run("pandoc -t json", stdin=text).stdout
                assert is_code and not is_left_out, text


# Colons

NO_DIVS = {
    "below a paragraph": ("Some practice:\n::: exercise\nwalnut\n:::\n", [2]),
    "indented": ("Text.\n\n  ::: exercise\n  walnut\n  :::\n", [3]),
    "one that is not opened": ("::: exercise\nq\n:::\n\nSECRET\n\n:::\n", [7]),
    "braces not closed": ("::: {.exercise #a\nwalnut\n:::\n", [1]),
    "two colons": (":: exercise\nwalnut\n::\n", [1]),
    "a block": ("::: lmm content-hidden\n``` yaml\ntype: exercise\n```\n:::\n\nwalnut\n", [1]),
}


@pytest.mark.parametrize("case", NO_DIVS)
def test_colons_that_are_no_div(case):
    text, lines = NO_DIVS[case]
    assert [line for line, _ in reports(text)] == lines
    assert all(message.startswith("colons that open or close no div") for _, message in reports(text))


@pytest.mark.parametrize("between", ["<!-- todo -->", "{{< pagebreak >}}", "***"])
def test_a_block_that_is_about_nothing(between):
    ((line, message),) = reports(f"# A\n\n{BLOCK}\n{between}\n\n## Q\n\nText.\n")
    assert (line, message.startswith("this metadata is about the line after it alone")) == (3, True)


def test_a_block_before_an_underlined_heading():
    ((line, message),) = reports(f"# A\n\n{BLOCK}\nHeading\n-------\n\nSECRET\n")
    assert (line, message.startswith("an underlined heading starts no section")) == (3, True)


# Types on something else


@pytest.mark.parametrize(
    "text",
    [
        "## Ex {#e1 .exercise}\n\nText.\n",
        "A [x]{.exercise} word.\n",
        "```{exercise}\n:label: one\n\nText.\n```\n",
        '<details class="exercise">\n<summary>Q</summary>\n\nText.\n\n</details>\n',
        "> [!EXERCISE]\n> Text.\n",
    ],
)
def test_a_type_on_something_else(text):
    ((_, message),) = reports(text)
    assert "leaves nothing out" in message


@pytest.mark.parametrize(
    "text",
    [
        "::: exercise\nText.\n:::\n",
        ":::: {.callout-note}\n## T\n\n::: {.exercise .hard}\nText.\n:::\n::::\n",
        "Like this:\n\n    ::: exercise\n    ## Ex {.exercise}\n    :::\n",
        "Write `## Ex {.exercise}` or `::: exercise` or `<details class=exercise>`.\n",
        "An exercise! [exercise](exercise.md) <exercise@example.org>\n",
        "Use std::vector and `::`.\n\n:: a line of reST\n",
        f"{BLOCK}\n<!-- todo -->\nText right below.\n",
    ],
)
def test_what_is_no_slip(text):
    assert reports(text) == []
