"""What knitting makes of divs that it has left empty, and of references to what is gone: in texts and among elements."""

import pytest

from tests.commands import run, write
from tests.effort import at_most
from tests.strategies import knitted

SECRET = "::: exercise\nSECRET\n:::\n"
BLOCK = "::: lmm\n```yaml\ntype: exercise\n```\n:::\n\nSECRET\n"
# What is written, and what stays of it.
DIVS = {
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
}
GONE = "::: exercise\n## Task {#sec-x}\n\n## More {#drill}\n:::\n"
REFERENCES = {
    "See @sec-x.": "See […].",
    "See [the\npractice](#drill) now.": "See the\npractice now.",
    "See [see @sec-x, p. 3].": "See see […], p. 3.",
    "See [@sec-x; @knuth].": "See [@knuth].",
    "See @sec-y, [@sec-y] and [here](#there).": "See @sec-y, [@sec-y] and [here](#there).",
    "```\n@sec-x\n```": "```\n@sec-x\n```",
    "See @{sec-x}, and [@{sec-x}].": "See […], and […].",
}


@pytest.mark.parametrize("case", DIVS)
def test_a_div_left_empty_goes(case):
    before, after = DIVS[case]
    after = f"{after}\n" if after else ""
    assert knitted(f"Before.\n\n{before}\nAfter.\n") == f"Before.\n\n{after}After.\n"


@pytest.mark.parametrize("before", REFERENCES)
def test_a_reference_to_what_is_gone_becomes_readable(before):
    assert knitted(f"{before}\n\n{GONE}") == f"{REFERENCES[before]}\n"


def test_among_elements(pandoc):
    """Pandoc makes the same of the filtered document as of the knitted texts."""
    pairs = [*DIVS.values(), *REFERENCES.items()]
    write("notes.md", "\n".join(f"# A\n\n{before}\n" for before, _ in pairs) + f"\n{GONE}")
    write("after.md", "\n".join(f"# A\n\n{after}\n" for _, after in pairs))
    filtered = run("pandoc -F lmm-knit notes.md -t html --wrap=none", pandoc).stdout
    assert filtered == run("pandoc after.md -t html --wrap=none", pandoc).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        ":::: columns\n" + f"::: callout-note\n{SECRET}:::\n" * 500 + "::::\n",
        GONE + "[@" * 20_000,
    ],
    ids=["wide", "brackets"],
)
def test_hostile_texts_take_no_time(text):
    with at_most(seconds=20):
        knitted(text)
