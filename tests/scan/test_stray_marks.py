"""Text that looks like a mark of ours but has no effect is reported, since it would show an exercise."""

import pytest

from lmm_core.markdown import parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.check.near_misses import find_near_misses

BLOCK = "::: {.lmm .content-hidden}\n``` yaml\ntype: exercise\n```\n:::\n"


def told(text, **rules):
    """Return the lines and first words of the reports."""
    problems = find_near_misses(parse_markdown_text(text), KnitRules(**rules))
    return [(problem.line, problem.message.split(",")[0].split(":")[0]) for problem in problems]


STRAY = "colons that open or close no div"
NO_DIVS = {
    "below a paragraph": ("Some practice:\n::: exercise\nwalnut\n:::\n", [2]),
    "below a paragraph, in a div": ("::: exercise\npara\n::: hint\nmore\n:::\nSECRET\n:::\n\nText.\n", [3]),
    "below an item": ("- one\n::: exercise\nwalnut\n:::\n", [2]),
    "below an item's text": ("1.  one\n    ::: exercise\n    walnut\n    :::\n", None),
    "indented": ("Text.\n\n  ::: exercise\n  walnut\n  :::\n", [3]),
    "two far in an item": ("1. one\n\n    ::: exercise\n    walnut\n    :::\n", [3]),
    "one that is not opened": ("::: exercise\nq\n:::\n\nSECRET\n\n:::\n", [7]),
    "braces not closed": ("::: {.exercise #a\nwalnut\n:::\n", [1]),
    "braces without dots": ("::: {#e1 exercise}\nwalnut\n:::\n", [1]),
    "a comma": ("::: {.exercise, .hard}\nwalnut\n:::\n", [1]),
    "no braces": ("::: #e1 .exercise\nwalnut\n:::\n", [1]),
    "two words": ("::: exercise one\nwalnut\n:::\n", [1]),
    "a word and attributes": ("::: exercise {#one}\nwalnut\n:::\n", [1]),
    "two colons": (":: exercise\nwalnut\n::\n", [1]),
    "a hard blank": (":::\u00a0exercise\nwalnut\n:::\n", [1]),
    "wide colons": ("\uff1a\uff1a\uff1a exercise\nwalnut\n\uff1a\uff1a\uff1a\n", [1]),
    "a block": ("::: lmm content-hidden\n``` yaml\ntype: exercise\n```\n:::\n\nwalnut\n", [1]),
}


@pytest.mark.parametrize("case", NO_DIVS)
def test_colons_that_are_no_div(case):
    text, lines = NO_DIVS[case]
    found = told(text)
    assert found
    assert {message for _, message in found} == {STRAY}
    if lines:
        assert [line for line, _ in found] == lines


@pytest.mark.parametrize("indent", ["  ", "    "])
def test_a_div_in_one_of_several_items_of_a_line(indent):
    assert told(f"- - one\n\n{indent}::: exercise\n{indent}walnut\n{indent}:::\n") == []


@pytest.mark.parametrize(
    "between", ["<!-- todo -->", "{{< pagebreak >}}", "***", "\\newpage", "[]{#anchor}", "::: {.x}\n:::"]
)
def test_a_block_that_is_about_nothing(between):
    assert told(f"# A\n\n{BLOCK}\n{between}\n\n## Q\n\nText.\n") == [
        (3, "this metadata is about the line after it alone")
    ]


def test_a_block_before_an_underlined_heading():
    assert told(f"# A\n\n{BLOCK}\nHeading\n-------\n\nSECRET\n") == [(3, "an underlined heading starts no section")]


@pytest.mark.parametrize(
    "text",
    [
        "## Ex {.exercise}\n\nText.\n",
        "## Ex {.rag-only type=exercise}\n\nText.\n",
        "## Ex {type=exercise}\n\nText.\n",
        "A [x]{.exercise} word.\n",
        "::: {.panel-tabset}\n## One {.topic}\nText.\n:::\n",
        "## Ex {#e1 .exercise}\n\nText.\n",
        "```{exercise}\n:label: one\n\nText.\n```\n",
        "A.\n\n- ~~~ exercise\n  Text.\n  ~~~\n",
        "``` {.python .exercise}\nText.\n```\n",
        '<details class="exercise">\n<summary>Q</summary>\n\nText.\n\n</details>\n',
        "Text.\n\n<section id=a class='hard exercise'>\n\nText.\n\n</section>\n",
        "<aside class=exercise>Text.</aside>\n",
        "!!! exercise\n    Text.\n",
        '??? exercise "One"\n    Text.\n',
        "> [!EXERCISE]\n> Text.\n",
    ],
)
def test_a_type_on_something_else(text):
    ((_, message),) = told(text)
    assert message.endswith("leaves nothing out")


@pytest.mark.parametrize("key", ["exercise: true", "rag-only: true"])
def test_a_type_as_a_key(key):
    assert told(BLOCK.replace("type: exercise", key) + "\nText.\n") == [(3, f"unknown key '{key[:-6]}'")]


@pytest.mark.parametrize("line", ["knit: nein", "knit: 0"])
def test_a_header_that_is_no_switch(line):
    assert told(f"---\n{line}\n---\n\nText.\n") == [(2, "'knit' should be true or false")]


@pytest.mark.parametrize(
    "text",
    [
        "::: exercise\nText.\n:::\n",
        "1. one\n\n   ::: exercise\n   Text.\n   :::\n",
        "- one\n\n  ::: {.exercise .hard}\n  Text.\n  :::\n",
        "> ::: exercise\n> Text.\n> :::\n",
        ":::: {.callout-note}\n## T\n\n::: exercise\nText.\n:::\n::::\n",
        "::::: exercise :::::\nText.\n:::::\n",
        "Like this:\n\n    ::: exercise\n    Text.\n    :::\n",
        "``` markdown\n::: exercise\n```\n",
        "<!--\n::: exercise one\n-->\n\nText.\n",
        "<pre>\n::: exercise one\n</pre>\n",
        "Write `## Ex {.exercise}` or `::: exercise`.\n",
        "Like this:\n\n    ## Ex {.exercise}\n",
        "Write `<details class=exercise>`.\n",
        "```{r exercise}\nText.\n```\n",
        "```{r}\n#| label: exercise\nText.\n```\n",
        "```` markdown\n```{exercise}\n```\n````\n",
        "\\begin{exercise}\nText.\n\\end{exercise}\n",
        "An exercise! [exercise](exercise.md) <exercise@example.org>\n",
        "Term\n:   Definition: `a::b`.\n",
        "Use std::vector and `::`.\n\n:: a line of reST\n",
        "---\nknit: (function(input, ...) rmarkdown::render(input))\n---\n\nText.\n",
        "{{< include _a.qmd >}}\n\n$$\na_{ij}\n$$ {#eq-one}\n",
        f"{BLOCK}\n<!-- todo -->\nText right below.\n",
    ],
)
def test_what_is_no_slip(text):
    assert told(text) == []
