"""The context of a question: the text that a block annotates, within a budget."""

from lmm_core.markdown import blocks_to_tree, parse_markdown_text
from lmm_core.markdown.tree import traverse
from lmm_core.scan.exchange.requests import fit_text

NOTES = """---
title: T
---

Intro one.

# One

One a.

One b.

## Sub

Sub text is here.

# Two

Two a is long. It goes on and on.

Two b is long. It goes on and on.
"""


def count(text):
    return len(text.split())


def excerpt(text, budget=1000):
    return fit_text(blocks_to_tree(parse_markdown_text(text)), budget, count)


def test_the_whole_text_without_metadata():
    all_of_it = excerpt(NOTES)
    assert all_of_it.left_out == ()
    assert all_of_it.text.startswith(
        "Intro one.\n\n# One\n\nOne a.\n\nOne b.\n\n## Sub\n\nSub text is here.\n\n# Two\n\nTwo a"
    )


def test_the_last_blocks_go_first_and_headings_stay():
    short = excerpt(NOTES, 26)
    assert short.left_out == ("Two",)
    assert short.text.endswith("# Two\n\nTwo a is long. It goes on and on.")


def test_a_section_without_text_is_not_said_to_be_left_out():
    assert excerpt("# A\n\nOne two three four five.\n\n# Empty\n\n## Empty too\n", 4).left_out == ("A",)


def test_what_stands_before_the_first_heading_has_a_name():
    assert excerpt("One two three.\n\nFour five six.\n", 4).left_out == ("(the beginning)",)


def test_a_paragraph_by_itself():
    tree = blocks_to_tree(parse_markdown_text(NOTES))
    text = next(node for node in traverse(tree) if getattr(node, "content", "") == "One b.")
    assert fit_text(text, 100, count).text == "One b."


def test_what_cannot_be_read_is_no_text():
    assert excerpt("# A\n\n---\na: [\n---\n\nText.\n").text == "# A\n\nText."
