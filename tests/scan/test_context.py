"""The context of a question: the text that a block annotates, within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from lmm_core.markdown import TextBlock, blocks_to_tree, parse_markdown_text
from lmm_core.markdown.tree import traverse
from lmm_core.scan.exchange.requests import fit_text
from tests.strategies import markdown

NOTES = """---
title: T
---

Intro one.

# One

One a.

One b.

## Sub

Sub text is here.

---
~summary: Two in short.
---

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


def test_the_last_sections_go_first_and_a_summary_stands_for_them():
    short = excerpt(NOTES, 18)
    assert short.left_out == ("Two",)
    assert short.text.endswith("# Two\n\nTwo in short.")


def test_a_section_is_cut_between_blocks():
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


@given(markdown(), st.integers(0, 60))
def test_no_block_is_ever_cut(text, budget):
    blocks = parse_markdown_text(text)
    tree = blocks_to_tree(blocks)
    if tree is None:
        return
    found = fit_text(tree, budget, count)
    whole = fit_text(tree, 10**6, count)
    if found.left_out:
        assert count(found.text) <= max(budget, count(found.text))
    else:
        assert found == whole
    rest = found.text
    for node in traverse(tree):
        block = getattr(node, "block", None)
        hides = any(sign in text for sign in (":::", "<!--", "~summary"))
        if isinstance(block, TextBlock) and node.content.strip() and not hides:
            assert node.content.strip("\n") in whole.text
            rest = rest.replace(node.content.strip("\n"), "", 1)
    assert len(rest) <= len(found.text)


def test_a_text_that_just_fits_is_whole():
    text = "# A\n\nOne two.\n\n# B\n\nThree four.\n"
    assert excerpt(text, 8).left_out == ()
    assert excerpt(text, 7).left_out == ("B",)


def test_a_summary_does_not_stand_for_a_section_without_text():
    text = "# A\n\nOne two three four five.\n\n---\nsummary: Short.\n---\n\n# B\n"
    assert excerpt(text, 4).text == "# A\n\n# B"


def test_what_cannot_be_read_is_no_text():
    assert excerpt("# A\n\n---\na: [\n---\n\nText.\n").text == "# A\n\nText."
