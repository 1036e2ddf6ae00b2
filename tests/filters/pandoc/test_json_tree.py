"""Pandoc's JSON as a tree of values."""

from filters.pandoc.json_tree import (
    attributes_of,
    find_block_lists,
    find_elements,
    mark_metadata,
    metadata_of,
    strip_metadata,
    walk,
)
from lmm_core.markdown.blocks import ErrorBlock

WORD = {"t": "Str", "c": "word"}
CODE = {"t": "RawInline", "c": ["html", "<b>"]}
PAGE = [{"t": "Para", "c": [WORD, {"t": "Emph", "c": [CODE]}]}]


def test_parents_come_before_what_is_in_them():
    found = list(walk(PAGE))
    assert found[0] is PAGE
    assert found.index(PAGE[0]) < found.index(CODE) < found.index(CODE["c"])


def test_the_walk_passes_over_words():
    assert WORD not in list(walk(PAGE))


def test_metadata_may_have_a_key_named_like_those_of_elements():
    meta = {"t": {"t": "MetaInlines", "c": [WORD, CODE]}}
    assert list(find_elements({"meta": meta}, "RawInline")) == [CODE]


def test_the_walk_goes_on_with_what_the_caller_has_put_in():
    tree = ["old", ["old"]]
    for one in walk(tree):
        if isinstance(one, list):
            one[:] = ["new" if item == "old" else item for item in one]
    assert tree == ["new", ["new"]]


def test_elements_of_some_kinds_are_found_at_any_depth():
    assert list(find_elements(PAGE, "RawBlock", "RawInline")) == [CODE]
    assert list(find_elements(PAGE, "Table")) == []


def test_a_tree_may_be_deeper_than_the_stack():
    tree = []
    for _ in range(100_000):
        tree = [tree]
    assert sum(1 for _ in walk(tree)) == 100_001


# Blocks inside of blocks

TEXT = {"t": "Para", "c": [WORD]}


def div(name, *blocks):
    return {"t": "Div", "c": [["", [name], [["type", "topic"]]], list(blocks)]}


def test_a_list_of_blocks_is_found_and_not_what_is_in_it():
    inner = {"t": "BlockQuote", "c": [TEXT]}
    assert list(find_block_lists(div("box", inner))) == [[inner]]
    assert list(find_block_lists(inner)) == [[TEXT]]
    assert list(find_block_lists(TEXT)) == []


def test_each_item_of_a_list_and_a_note_in_a_paragraph_has_blocks_of_its_own():
    listed = {"t": "BulletList", "c": [[TEXT], [TEXT, TEXT]]}
    assert sorted(map(len, find_block_lists(listed))) == [1, 2]
    assert list(find_block_lists({"t": "Para", "c": [WORD, {"t": "Note", "c": [TEXT]}]})) == [[TEXT]]


def test_the_attributes_of_a_div():
    assert attributes_of(div("box")).classes == ["box"]
    assert attributes_of(div("box")).pairs == {"type": "topic"}
    assert attributes_of(TEXT).classes == []


# Metadata blocks


def metadata(body):
    return div("lmm", {"t": "CodeBlock", "c": [["", ["yaml"], []], body]})


def test_metadata_is_a_div_with_yaml_a_comment_or_our_raw_block():
    comment = {"t": "RawBlock", "c": ["html", "<!-- lmm\ntype: topic\n-->"]}
    for element in (metadata("type: topic"), comment, {"t": "RawBlock", "c": ["lmm", "type: topic\n"]}):
        assert metadata_of(element).content == {"type": "topic"}
    assert isinstance(metadata_of(metadata("- no mapping")), ErrorBlock)
    assert isinstance(metadata_of(div("lmm", TEXT)), ErrorBlock)
    assert metadata_of(div("box", TEXT)) is None
    assert metadata_of({"t": "RawBlock", "c": ["html", "<!-- lmms -->"]}) is None


def test_metadata_is_taken_out_at_any_depth_and_marked_at_the_top():
    blocks = [metadata("a: 1"), div("box", metadata("b: 2"), TEXT)]
    marked = mark_metadata(blocks)
    assert marked[0] == {"t": "RawBlock", "c": ["lmm", "a: 1\n"]}
    assert marked[1] is blocks[1]
    assert strip_metadata(blocks) == [div("box", TEXT)]
