"""Pandoc's JSON as a tree of values."""

from filters.pandoc.json_tree import find_elements, mentions, walk

WORD = {"t": "Str", "c": "word"}
CODE = {"t": "RawInline", "c": ["html", "<b>"]}
PAGE = [{"t": "Para", "c": [WORD, {"t": "Emph", "c": [CODE]}]}]


def test_parents_come_before_what_is_in_them():
    found = list(walk(PAGE))
    assert found[0] is PAGE
    assert found.index(PAGE[0]) < found.index(CODE) < found.index("<b>")


def test_the_walk_goes_on_with_what_the_caller_has_put_in():
    tree = ["old", ["old"]]
    for one in walk(tree):
        if isinstance(one, list):
            one[:] = ["new" if item == "old" else item for item in one]
    assert tree == ["new", ["new"]]


def test_elements_of_some_kinds_are_found_at_any_depth():
    assert list(find_elements(PAGE, "RawBlock", "RawInline")) == [CODE]
    assert list(find_elements(PAGE, "Table")) == []


def test_a_word_is_mentioned_as_a_text_of_its_own():
    assert mentions(PAGE, {"word"})
    assert not mentions(PAGE, {"wor", "words"})


def test_a_tree_may_be_deeper_than_the_stack():
    tree = []
    for _ in range(100_000):
        tree = [tree]
    assert sum(1 for _ in walk(tree)) == 100_001
