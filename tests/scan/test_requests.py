"""The text that a request shows: what a block annotates, within a budget."""

from lmm_core.markdown import blocks_to_tree, parse_markdown_text
from lmm_core.scan.requests import fit_text

NOTES = """---
title: T
---

Intro one.

# One

One a.

## Sub

Sub text is here.

# Two

Two a is long. It goes on and on.

Two b is long. It goes on and on.
"""


def excerpt(text, budget=1000):
    return fit_text(blocks_to_tree(parse_markdown_text(text)), budget, lambda part: len(part.split()))


def test_the_whole_text_without_metadata():
    whole = excerpt(NOTES)
    assert whole.left_out == ()
    assert whole.text == NOTES.partition("---\n\n")[2].strip()
    assert excerpt("# A\n\n---\na: [\n---\n\nText.\n").text == "# A\n\nText."


def test_the_last_blocks_go_first_and_headings_stay():
    short = excerpt(NOTES, 24)
    assert short.left_out == ("Two",)
    assert short.text.endswith("# Two\n\nTwo a is long. It goes on and on.")


def test_what_is_left_out_is_named_by_its_section():
    assert excerpt("# A\n\nOne two three four five.\n\n# Empty\n\n## Empty too\n", 4).left_out == ("A",)
    assert excerpt("One two three.\n\nFour five six.\n", 4).left_out == ("(the beginning)",)
