"""References to parts left out become readable, in texts and among Pandoc's elements."""

import json

import pytest

from lmm_core.scan.knit import find_references_to, replace_references_to
from tests.commands import run, write
from tests.effort import at_most

GONE = {"sec-x", "practice"}
# What is written, and what the notes show.
CASES = {
    "See @sec-x.": "See […].",
    "See [the\npractice](#practice) now.": "See the\npractice now.",
    "See [see @sec-x, p. 3].": "See see […], p. 3.",
    "See [@sec-x; @knuth].": "See [@knuth].",
    "See @sec-y, [@sec-y] and [here](#there).": "See @sec-y, [@sec-y] and [here](#there).",
    "Code `@sec-x` stays.": "Code `@sec-x` stays.",
    "```\n@sec-x\n```": "```\n@sec-x\n```",
    "A mail to a@sec-x.example.": "A mail to a@sec-x.example.",
    "*See @sec-x*": "*See […]*",
    "See @{sec-x}, and [@{sec-x}].": "See […], and […].",
}


@pytest.mark.parametrize("before", CASES)
def test_in_a_text(before):
    assert replace_references_to(before, GONE) == CASES[before]
    assert bool(list(find_references_to(before, GONE))) == (before != CASES[before])


def test_among_elements(pandoc):
    write("notes.md", "\n\n".join(CASES) + "\n\n::: exercise\n## Task {#sec-x}\n\n## More {#practice}\n:::\n")
    write("after.md", "\n\n".join(CASES.values()) + "\n")
    made = run("pandoc -F lmm-knit notes.md -t plain --wrap=none", pandoc).stdout
    assert made == run("pandoc after.md -t plain --wrap=none", pandoc).stdout


def test_what_stays_elsewhere_is_not_lost(pandoc):
    write("notes.md", "See @sec-x.\n\n## One {#sec-x}\n\n::: exercise\n## Two {#sec-x}\n:::\n")
    done = run("pandoc -F lmm-knit notes.md -t json", pandoc)
    assert b"reference" not in done.stderr
    assert "sec-x" in json.dumps(json.loads(done.stdout)["blocks"][0])


@pytest.mark.parametrize("text", ["[@" * 20_000, "[a](#" * 20_000, "@a." * 20_000 + "]"])
def test_hostile_texts_take_no_time(text):
    with at_most(seconds=5):
        list(find_references_to(text, GONE))
