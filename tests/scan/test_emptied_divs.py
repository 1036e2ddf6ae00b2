"""Boxes left empty by knitting go as well, in texts and among Pandoc's elements."""

import json

import pytest

from lmm_core.markdown.visibility import KnitRules
from lmm_core.scan.knit import strip_divs
from tests.commands import run, write
from tests.effort import at_most
from tests.strategies import knitted

SECRET = "::: exercise\nSECRET\n:::\n"
BLOCK = "::: lmm\n```yaml\ntype: exercise\n```\n:::\n\nSECRET\n"
# What is written, and what stays of it.
CASES = {
    "a callout": (f":::: callout-note\n{SECRET}::::\n", ""),
    "a callout with more": (f":::: callout-note\nMore.\n\n{SECRET}::::\n", ":::: callout-note\nMore.\n\n::::\n"),
    "one column": (
        f"::::: columns\n:::: column\nLeft.\n::::\n\n:::: column\n{SECRET}::::\n:::::\n",
        "::::: columns\n:::: column\nLeft.\n::::\n\n:::::\n",
    ),
    "a tab": (
        f":::: panel-tabset\n## One\n\nFirst.\n\n## Two\n\n{SECRET}\n## Three\n\nThird.\n::::\n",
        ":::: panel-tabset\n## One\n\nFirst.\n\n## Two\n\n## Three\n\nThird.\n::::\n",
    ),
    "a paragraph after its block": (f":::: callout-note\n{BLOCK}::::\n", ""),
    "what the writer left empty": (f"::: {{#refs}}\n:::\n\n{SECRET}", "::: {#refs}\n:::\n"),
    "a heading in a div that is no callout": (
        f":::: column-page\n## Practice\n\n{SECRET}::::\n",
        ":::: column-page\n## Practice\n\n::::\n",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_in_a_text(case):
    before, after = CASES[case]
    after = f"{after}\n" if after else ""
    assert knitted(f"Before.\n\n{before}\nAfter.\n") == f"Before.\n\n{after}After.\n"


def test_among_elements(pandoc):
    """Pandoc makes the same of the filtered document as of the knitted texts."""
    write("notes.md", "\n".join(f"# {case}\n\n{before}" for case, (before, _) in CASES.items()))
    write("after.md", "\n".join(f"# {case}\n\n{after}" for case, (_, after) in CASES.items()))
    made = json.loads(run("pandoc -F lmm-knit notes.md -t json", pandoc).stdout)["blocks"]
    assert made == json.loads(run("pandoc after.md -t json", pandoc).stdout)["blocks"]


@pytest.mark.slow
def test_boxes_without_end_take_no_time():
    deep = "::: a\n" * 500 + SECRET + ":::\n" * 500
    wide = ":::: columns\n" + f"::: callout-note\n{SECRET}:::\n" * 500 + "::::\n"
    blocks = "::: outer\n\n" + BLOCK * 300 + ":::\n"
    tabs = ":::: panel-tabset\n" + f"## T\n\n{SECRET}\n" * 500 + "::::\n"
    with at_most(seconds=20):
        for text in (deep, wide, tabs, blocks):
            strip_divs(text, KnitRules())
