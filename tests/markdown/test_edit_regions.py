"""Regions of proposed edits: written, read, and told from what merely looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.markdown import HeadingBlock, TextBlock, parse_markdown_text, serialize_blocks
from lmm_core.markdown.edits import Edit, broken_edits, read_edit, restore_originals, write_edit
from tests.strategies import any_text, markdown

REGION = "###### old text {#lmm-old-k3x9}\n\nA\n\n###### new text {#lmm-new-k3x9}\n\nB\n\n###### end of edit {#lmm-end-k3x9}\n"
NASTY = ["# Heading", "---\na: 1\n---", "```\nnot closed", "###### new text", "<!-- not closed", "::: lmm"]


def test_a_region_is_spelled_as_the_docs_say():
    assert write_edit(Edit("k3x9", "A", "B"), "\n").source == REGION
    assert write_edit(Edit("k3x9", None, "B"), "\n").source == REGION[REGION.index("###### new text") :]


@given(st.one_of(any_text, markdown(), st.none()), st.one_of(any_text, markdown()), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read_again(old, new, newline):
    edit = Edit("k3x9", old, new, 0 if old is None else 2)
    region = write_edit(edit, newline)
    assert read_edit(region) == edit
    document = f"Before.{newline * 2}{region.source}{newline}After."
    blocks = parse_markdown_text(document)
    assert [read_edit(block) for block in blocks] == [None, edit, None]
    assert serialize_blocks(blocks) == document


@pytest.mark.parametrize("inside", NASTY)
def test_a_region_is_one_text_block_whatever_it_holds(inside):
    region = write_edit(Edit("k3x9", inside, f"New.\n\n{inside}"), "\n")
    problems = []
    blocks = parse_markdown_text(f"# H\n\n{region.source}\n# Next\n\nText.\n", problems)
    assert [type(block) for block in blocks] == [HeadingBlock, TextBlock, HeadingBlock, TextBlock]
    assert problems == []
    assert broken_edits(blocks) == []


LINES = REGION.splitlines(keepends=True)
OLD, NEW, END = LINES[0], LINES[4], LINES[8]


@pytest.mark.parametrize(
    "text",
    [
        REGION.replace(NEW, ""),
        REGION + "\n" + REGION,
        NEW + "\nB\n\n" + OLD + "\nA\n\n" + END,
    ],
    ids=["no new", "twice", "wrong order"],
)
def test_markers_that_are_missing_or_doubled_are_told_with_their_line(text):
    blocks = parse_markdown_text(f"Before.\n\n{text}")
    problems = broken_edits(blocks)
    assert problems
    assert all(problem.line >= 3 and "there once each" in problem.message for problem in problems)
    assert not any(read_edit(block) for block in blocks if isinstance(block, TextBlock))


def test_an_example_in_a_code_fence_is_none():
    blocks = parse_markdown_text(f"```\n{REGION}```\n\nText.\n")
    assert (len(blocks), broken_edits(blocks), read_edit(blocks[0])) == (2, [], None)


# Unfolded


def test_unfolded_the_old_text_stands_where_it_stood():
    text = f"---\n=: x\n---\n\n{REGION.replace('A', '## A' + chr(10) * 2 + 'Old.')}\n# Next\n"
    unfolded = restore_originals(parse_markdown_text(text))
    assert serialize_blocks(unfolded.blocks) == "---\n=: x\n---\n\n## A\n\nOld.\n\n# Next\n"
    assert [block.line for block in unfolded.blocks] == [1, 7, 9, 17]
    assert serialize_blocks(unfolded.fold(unfolded.blocks)) == text


@given(markdown(), markdown(), markdown())
def test_folding_what_was_unfolded_gives_the_text_again(before, old, new):
    region = write_edit(Edit("k3x9", old, new), "\n")
    blocks = parse_markdown_text(f"{before}\n\n# H\n\n{region.source}\n# Next\n\nText.\n")
    unfolded = restore_originals(blocks)
    assert unfolded.fold(unfolded.blocks) == blocks
