"""Trees that are changed: nodes by their methods, whole trees by functions; all other text keeps its bytes."""

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lmm_core.errors import MarkdownError
from lmm_core.markdown import (
    HeaderNode,
    HeadingNode,
    MetadataBlock,
    TextNode,
    blocks_to_tree,
    parse_markdown_text,
    serialize_blocks,
    serialize_tree,
    traverse,
    tree_to_blocks,
)
from lmm_core.markdown.tree import (
    collect_dictionaries,
    collect_headings,
    collect_table_of_contents,
    collect_text,
    copy_tree,
    extract_content,
    inherit_metadata,
    map_tree,
    propagate_content,
    propagate_property,
    prune_tree,
    sections,
)
from tests.strategies import LONG, any_text, markdown, outside_metadata, squeezed, values

often = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
BOOK = """\
---
title: Book # the title
---

preface

---
topic: "means"
~~hash: {summary: [a, b]}
---

# One {#one}

first

---
type: topic
---

second

### Deep

third

# Two

fourth
"""


def tree_of(text):
    return blocks_to_tree(parse_markdown_text(text))


def find(tree, name):
    return next(node for node in traverse(tree) if node.parent and node.content == name)


def shape(tree):
    """What is read from a tree: for each node its kind, depth, content and metadata."""
    return [(type(one), len(one.ancestors), one.content, one.properties) for one in traverse(tree)
            if one.metadata or not isinstance(one, TextNode) or one.content]  # fmt: skip


def reads_the_same(tree):
    """True if the tree's text is read as that tree again."""
    return shape(tree) == shape(tree_of(serialize_tree(tree)))


@st.composite
def documents(draw):
    """A tree of a text in which everything is closed, and a number to choose one of its nodes by."""
    problems = []
    blocks = parse_markdown_text(draw(markdown()), problems)
    assume(blocks and not problems and not serialize_blocks(blocks).startswith("\ufeff\ufeff"))
    return blocks_to_tree(blocks), draw(st.integers(0, 40))


def chosen(tree, number, kind=object):
    nodes = [one for one in traverse(tree) if isinstance(one, kind)]
    assume(nodes)
    return nodes[number % len(nodes)]


# Metadata


@often
@given(documents(), st.sampled_from(["alpha", "key", "~summary"]), values)
def test_a_value_that_is_set_is_read_and_no_text_changes(document, key, value):
    tree, number = document
    node, before = chosen(tree, number), serialize_tree(tree)
    blocks = tree_to_blocks(tree)
    try:
        node.set(key, value)
    except MarkdownError:
        assume(False)
    assert node.get(key) == value
    assert squeezed(outside_metadata(serialize_tree(tree))) == squeezed(outside_metadata(before))
    kept = {id(one) for one in tree_to_blocks(tree)}
    assert sum(id(one) not in kept for one in blocks) <= 2, "more than the block and what follows it was touched"
    assert reads_the_same(tree)


@often
@given(documents())
def test_a_new_key_that_is_removed_leaves_the_text_as_it_was(document):
    tree, number = document
    node, before = chosen(tree, number), serialize_tree(tree)
    assume(node.blocks and not node.metadata)
    try:
        node.set("alpha", 1)
    except MarkdownError:
        assume(False)
    node.remove("alpha")
    assert squeezed(serialize_tree(tree)) == squeezed(before)


def test_only_the_lines_of_the_key_change():
    tree = tree_of(BOOK)
    find(tree, "One").set("topic", "the mean")
    tree.set("lang", "en")
    changed = BOOK.replace('topic: "means"', "topic: the mean").replace("# the title\n", "# the title\nlang: en\n")
    assert serialize_tree(tree) == changed


def test_the_blocks_that_a_tree_was_made_of_stay():
    blocks = parse_markdown_text(BOOK)
    tree = blocks_to_tree(blocks)
    find(tree, "second").set("type", "exercise")
    assert blocks[5].content == {"type": "topic"}
    assert blocks_to_tree(blocks).get("title") == "Book"


@pytest.mark.parametrize("written", ["summary=: old", "summary: old", "~summary: old"])
def test_a_key_is_set_under_the_spelling_that_counts(written):
    tree = tree_of(f"---\n{written}\n---\n\ntext\n")
    tree.set("summary", "new")
    assert serialize_tree(tree) == f"---\n{written.replace('old', 'new')}\n---\n\ntext\n"


def test_the_block_of_several_that_holds_a_key_is_changed():
    tree = tree_of("text\n\n---\na: 1\n---\n\n---\nb: 2\n---\n\n# h\n")
    node = tree.sections[0]
    node.set("a", 3)
    node.set("c", 4)
    assert [block.content for block in node.metadata] == [{"a": 3}, {"b": 2, "c": 4}]


def test_a_new_block_is_spelled_like_the_nearest():
    tree = tree_of("# A\n\ntext\n\n<!-- lmm\nskip: true\n-->\n\n# B\n")
    tree.sections[0].set("a", 1)
    assert serialize_tree(tree).startswith("<!-- lmm\na: 1\n-->\n\n# A\n\ntext")


def test_a_block_before_the_first_text_does_not_become_the_header():
    tree = tree_of("text\n\n---\na: 1\n---\n\n# B\n")
    tree.texts[0].set("b", 2)
    again = tree_of(serialize_tree(tree))
    assert (again.get("b"), again.texts[0].get("b")) == (None, 2)


def test_a_byte_order_mark_stays_first():
    tree = tree_of("\ufefftext\n\nmore\n")
    tree.set("title", "T")
    assert serialize_tree(tree) == "\ufeff---\ntitle: T\n---\n\ntext\n\nmore\n"
    tree.remove("title")
    assert serialize_tree(tree) == "\ufefftext\n\nmore\n"
    tree.remove_child(tree.texts[0])
    assert serialize_tree(tree) == "\ufeffmore\n"


def test_what_is_taken_away_before_a_block_does_not_make_it_the_header():
    tree = tree_of("text\n\n---\na: 1\n---\n\nmore\n")
    tree.remove_child(tree.texts[0])
    assert tree_of(serialize_tree(tree)).texts[0].get("a") == 1


def test_a_message_can_be_removed_but_not_set():
    tree = tree_of("# A\n\n---\n?: Why?\nkey: 1\n---\n\ntext\n")
    node = find(tree, "text")
    with pytest.raises(MarkdownError, match="message"):
        node.set("query", "Why not?")
    node.remove("?")
    assert serialize_tree(tree) == "# A\n\n---\nkey: 1\n---\n\ntext\n"


def test_a_block_that_cannot_be_edited_is_an_error_and_stays():
    text = "# A\n\n---\n{a: 1}\n---\n\ntext\n"
    tree = tree_of(text)
    with pytest.raises(MarkdownError, match="braces"):
        find(tree, "text").set("b", 2)
    with pytest.raises(MarkdownError, match="cannot be written as YAML"):
        tree.sections[0].set("a", (1, 2))
    assert serialize_tree(tree) == text


def test_no_header_is_made_before_one_that_cannot_be_read():
    tree = tree_of("---\ntitle: [\n---\n\ntext\n")
    with pytest.raises(MarkdownError, match="mend"):
        tree.set("title", "T")


# Content


@often
@given(documents(), st.sampled_from(["new", "two\nlines", "one\n\ntwo", "- a\n- b", "```\n# code\n```", LONG]))
def test_a_content_that_is_set_is_read_and_nothing_else_changes(document, text):
    tree, number = document
    node = chosen(tree, number, TextNode)
    blocks = tree_to_blocks(tree)
    at = blocks.index(node.block) if node.block else len(blocks)
    try:
        node.set_content(text)
    except MarkdownError:
        assume(False)
    assert node.content.replace("\r\n", "\n") == text
    after = tree_to_blocks(tree)
    assert [one.source for one in after[:at]] == [one.source for one in blocks[:at]]
    assert [one.source for one in after[at + 2 :]] == [one.source for one in blocks[at + 2 :]]
    again = tree_of(serialize_tree(tree))
    assert collect_headings(again) == collect_headings(tree)
    assert [one.body for one in tree_to_blocks(again) if isinstance(one, MetadataBlock)] == [
        one.body for one in after if isinstance(one, MetadataBlock)
    ]


@often
@given(documents(), st.sampled_from(["New", "A *title* of $x$", "C#", "Ünï"]))
def test_a_title_that_is_set_is_read_and_nothing_else_changes(document, title):
    tree, number = document
    node = chosen(tree, number, HeadingNode)
    assume(not isinstance(node, HeaderNode))
    blocks, old = tree_to_blocks(tree), node.heading
    node.set_content(title)
    assert node.title == title
    assert node.heading.attributes == old.attributes
    assert [one for one in tree_to_blocks(tree) if one is not node.heading] == [one for one in blocks if one is not old]
    assert reads_the_same(tree)


def test_the_blank_lines_around_a_text_and_the_marks_of_a_heading_stay():
    tree = tree_of("\n\n## A ## {#a}\r\n\r\nx\r\n\r\n\r\n\r\ny")
    tree.sections[0].texts[0].set_content("one\ntwo")
    tree.sections[0].texts[1].set_content("three")
    tree.sections[0].set_content("B")
    assert serialize_tree(tree) == "\n\n## B ## {#a}\r\n\r\none\r\ntwo\r\n\r\n\r\n\r\nthree"


@pytest.mark.parametrize(
    "wrong", ["", " \n", "# h", "text\n\n# h", "a\n\n---\nb: 1\n---\n\nc", "```\nopen", "<!-- open"]
)
def test_a_text_that_would_change_the_document_is_refused(wrong):
    tree = tree_of(BOOK)
    with pytest.raises(MarkdownError):
        find(tree, "first").set_content(wrong)
    assert serialize_tree(tree) == BOOK


@pytest.mark.parametrize("wrong", ["a\nb", "A {.x}", "A ##"])
def test_a_title_that_would_be_read_as_something_else_is_refused(wrong):
    tree = tree_of(BOOK)
    with pytest.raises(MarkdownError, match="title"):
        find(tree, "Two").set_content(wrong)
    assert serialize_tree(tree) == BOOK


def test_the_documents_title_is_set_in_its_header():
    tree = tree_of("# A\n")
    tree.set_content("Notes")
    assert serialize_tree(tree) == "---\ntitle: Notes\n---\n\n# A\n"


# Children


def is_added(content):
    """True for what was added; a definition behind it is read as that of the added text."""
    return re.fullmatch(r"Added text\.(\s+[:~].*)?|Added section", content, re.DOTALL) is not None


@often
@given(documents(), st.integers(0, 9), st.integers(1, 6), st.booleans())
def test_what_is_added_is_read_where_it_was_put_and_removed_without_a_trace(document, at, level, is_text):
    tree, number = document
    parent, before = chosen(tree, number, HeadingNode), serialize_tree(tree)
    child = (
        TextNode.from_content("Added text.", {"added": True})
        if is_text
        else HeadingNode.from_content("Added section", {"added": True}, level)
    )
    try:
        parent.add_child(child, at)
    except MarkdownError:
        assume(False)
    assert child.parent is parent
    again = tree_of(serialize_tree(tree))
    (twin,) = [node for node in traverse(again) if node.parent and is_added(node.content)]
    assert (twin.get("added"), len(twin.ancestors)) == (True, len(child.ancestors))
    assert twin.parent.content == parent.content or isinstance(parent, HeaderNode)
    parent.remove_child(child)
    assert squeezed(serialize_tree(tree)) == squeezed(before)


def test_a_section_is_set_apart_from_a_byte_order_mark_that_is_text():
    tree = tree_of("---\ntitle: T\n---\n\n\ufeff\n")
    tree.add_child(HeadingNode.from_content("Added", {"added": True}, 1))
    assert [node.get("added") for node in traverse(tree_of(serialize_tree(tree))) if node.content == "Added"] == [True]


def test_texts_stand_before_sections():
    tree = tree_of(BOOK)
    find(tree, "One").add_child(TextNode.from_content("added"))
    assert collect_text(find(tree, "One")) == ["first", "second", "added", "third"]
    assert reads_the_same(tree)


@pytest.mark.parametrize(("level", "at", "is_put_on"), [(1, None, 2), (5, None, 3), (1, 2, 3), (6, 0, 6), (4, 2, 4)])
def test_a_section_gets_a_level_at_which_it_is_a_child(level, at, is_put_on):
    tree = tree_of(BOOK)
    find(tree, "One").add_child(HeadingNode.from_content("Added", level=level), at)
    assert find(tree, "Added").level == is_put_on
    assert reads_the_same(tree)


def test_sections_go_down_with_the_one_they_are_in_but_not_below_the_sixth_level():
    tree = tree_of("# A\n\n## B\n\n# C\n\n### D\n\n###### E\n\ntext\n")
    before = serialize_tree(tree)
    with pytest.raises(MarkdownError, match="level 8"):
        find(tree, "B").add_child(find(tree, "C"))
    assert serialize_tree(tree) == before
    find(tree, "C").add_child(find(tree, "A"))
    assert serialize_tree(tree) == "# C\n\n### D\n\n###### E\n\ntext\n\n## A\n\n### B\n\n"


def test_a_section_cannot_stand_below_itself():
    tree = tree_of(BOOK)
    with pytest.raises(ValueError, match="below itself"):
        find(tree, "Deep").add_child(find(tree, "One"))


def test_a_node_that_stands_elsewhere_is_moved_with_its_metadata():
    tree = tree_of(BOOK)
    find(tree, "Two").add_child(find(tree, "second"))
    again = tree_of(serialize_tree(tree))
    assert (find(again, "second").parent.title, find(again, "second").get("type")) == ("Two", "topic")
    assert serialize_tree(tree).endswith("fourth\n\n---\ntype: topic\n---\n\nsecond\n\n")


def test_a_list_keeps_its_items_when_what_stood_between_two_goes():
    tree = tree_of("- a\n\n# H\n\n- b\n")
    tree.sections[0].add_child(tree.texts[0], 0)
    assert collect_text(tree_of(serialize_tree(tree))) == ["- a\n\n- b"]


# Trees


@often
@given(st.one_of(markdown(), any_text), st.booleans())
def test_a_map_that_changes_nothing_and_a_prune_of_nothing_keep_every_byte(text, post):
    tree = tree_of(text)
    assert serialize_tree(map_tree(tree, lambda node: None, post)) == text
    assert serialize_tree(prune_tree(tree, lambda node: True)) == text
    assert serialize_tree(copy_tree(tree)) == text


def test_a_map_leaves_the_tree_that_it_was_given():
    tree, seen = tree_of(BOOK), []
    made = map_tree(tree, lambda node: (seen.append(node.content), node.set("seen", len(seen))))
    assert (made.get("seen"), find(made, "fourth").get("seen")) == (1, 9)
    assert serialize_tree(tree) == BOOK
    assert reads_the_same(made)


def test_a_map_from_the_bottom_up_sees_what_was_made_below():
    def count(node):
        below = [child.get("n") for child in node.children] if isinstance(node, HeadingNode) else []
        node.set("n", 1 + sum(below))

    assert map_tree(tree_of(BOOK), count, post=True).get("n") == 9


@often
@given(documents())
def test_what_is_pruned_is_gone_and_the_rest_stays(document):
    tree, number = document
    gone = chosen(tree, number)
    assume(gone is not tree)
    text = serialize_tree(tree)
    try:
        left = prune_tree(tree, lambda node: node is not gone)
    except MarkdownError:
        assume(False)
    parts = {id(one) for one in traverse(gone)}
    kept = [node for node in traverse(tree) if id(node) not in parts]
    assert [one.content for one in traverse(left)] == [one.content for one in kept] or tree.get("title") is None
    assert serialize_tree(tree) == text
    assert collect_headings(tree_of(serialize_tree(left)))[1:] == collect_headings(left)[1:]


def test_prune_of_the_root_is_nothing():
    assert prune_tree(tree_of(BOOK), lambda node: False) is None
    assert prune_tree(None, lambda node: True) is None


def test_a_part_is_a_tree_of_its_own():
    part = copy_tree(find(tree_of(BOOK), "One"))
    assert (part.parent, part.fetch("title")) == (None, None)
    assert serialize_tree(part).startswith('---\ntopic: "means"')


def test_what_is_collected():
    tree = tree_of(BOOK)
    assert collect_text(tree) == ["preface", "first", "second", "third", "fourth"]
    assert collect_text(tree, lambda node: node.get("type") == "topic") == ["second"]
    assert collect_headings(tree, lambda node: node.level == 1) == ["One", "Two"]
    assert [(one["level"], one["content"]) for one in collect_table_of_contents(tree)] == [
        (0, "Book"), (1, "One"), (3, "Deep"), (1, "Two"),
    ]  # fmt: skip
    found = {one["content"]: one["metadata"] for one in collect_dictionaries(tree)}
    assert found["second"] == {"type": "topic", "topic": "means"}
    assert (found["fourth"], found["Book"]) == ({}, {"title": "Book"})
    assert collect_dictionaries(tree, lambda node: node.content == "third", inherit=False)[0]["metadata"] == {}
    assert collect_text(None) == collect_headings(None) == collect_dictionaries(None) == []


def test_metadata_is_inherited_by_those_that_lack_it():
    tree = tree_of(BOOK)
    assert inherit_metadata(tree, include_header=True, filter_func=lambda node: isinstance(node, TextNode)) is tree
    assert find(tree, "second").properties == {"type": "topic", "title": "Book", "topic": "means"}
    assert find(tree, "Deep").properties == {}
    assert find(tree, "third").get("topic") == "means"
    assert reads_the_same(tree)


def test_a_key_is_not_inherited_beside_another_spelling_of_it():
    tree = tree_of("# A\n\n---\n~summary: of A\n---\n\n# B\n\n---\nsummary=:\n---\n\ntext\n")
    assert find(inherit_metadata(tree), "text").properties == {"summary=": None}


def test_what_is_extracted_goes_from_the_children_to_the_section():
    def count(children):
        return sum(len(one.content.split()) if isinstance(one, TextNode) else one.get("words") for one in children)

    tree = extract_content(tree_of(BOOK), "words", count)
    assert [section.get("words") for section in sections(tree)] == [5, 3, 1, 1]


@pytest.mark.parametrize("select", [False, True])
def test_content_is_propagated_before_the_texts_or_in_their_place(select):
    tree = propagate_content(tree_of(BOOK), lambda node: f"On {node.title}.", select, lambda node: node.level > 0)
    texts = ["preface", "On One.", "first", "second", "On Deep.", "third", "On Two.", "fourth"]
    assert collect_text(tree) == [text for text in texts if not select or text.startswith(("On", "preface"))]
    assert reads_the_same(tree)


def test_a_property_becomes_a_text():
    tree = propagate_property(tree_of(BOOK.replace("topic:", "summary: All of it.\ntopic:")), "summary",
                              inherited_keys=["topic"])  # fmt: skip
    one = find(tree, "One")
    assert (one.get("summary"), one.texts[0].content) == (None, "All of it.")
    assert one.texts[0].properties == {"type": "summary", "topic": "means"}
    assert reads_the_same(tree)
