"""The document as sections and the texts in them."""

from hypothesis import given

from lmm_core.markdown import (
    ErrorBlock,
    HeaderNode,
    HeadingNode,
    TextNode,
    blocks_to_tree,
    make_block,
    parse_markdown_text,
    serialize_tree,
    titles_path,
    traverse,
    traverse_post,
    tree_to_blocks,
)
from lmm_core.markdown.tree import load_tree, map_tree, save_tree, sections
from tests.strategies import markdown

BOOK = """\
---
title: Book
lang: en
---

preface

---
skip: true
---

# One

first

---
type: topic
---

second

### Deep

third

# Two

---
left: over
---
"""


def tree_of(text):
    return blocks_to_tree(parse_markdown_text(text))


def names(nodes):
    return [node.title if isinstance(node, HeadingNode) else node.content for node in nodes]


def find_in(tree, name):
    return next(node for node in traverse(tree) if node.parent and names([node]) == [name])


def find(text, name):
    return find_in(tree_of(text), name)


@given(markdown())
def test_the_same_blocks_come_back_through_the_tree(text):
    blocks = parse_markdown_text(text)
    tree = blocks_to_tree(blocks)
    assert [id(block) for block in tree_to_blocks(tree)] == [id(block) for block in blocks]
    assert serialize_tree(map_tree(tree, lambda node: node.blocks)) == text


def test_document_order_and_post_order():
    tree = tree_of(BOOK)
    assert names(traverse(tree)) == ["Book", "preface", "One", "first", "second", "Deep", "third", "Two", ""]
    post = ["preface", "first", "second", "third", "Deep", "One", "", "Two", "Book"]
    assert names(traverse_post(tree)) == post
    assert names(sections(tree, post=True)) == ["Deep", "One", "Two", "Book"]


def test_sections_are_under_the_nearest_heading_of_a_lower_level():
    root = tree_of("## a\n\n# b\n\n### c\n\n## d\n")
    assert names(root.sections) == ["a", "b"]
    assert names(root.sections[1].sections) == ["c", "d"]


def test_metadata_annotates_the_document_a_section_or_the_text_behind_it_alone():
    assert tree_of(BOOK).get("title") == "Book"
    assert find(BOOK, "One").get("skip") is True
    assert [find(BOOK, name).get("type") for name in ("first", "second", "third")] == [None, "topic", None]


def test_of_consecutive_blocks_the_nearest_wins():
    node = find("text\n\n---\na: 1\nb: 1\n---\n\n---\nb: 2\n---\n\n# h\n", "h")
    assert (node.get("a"), node.get("b"), len(node.metadata)) == (1, 2, 2)


def test_own_and_inherited_values():
    third = find(BOOK, "third")
    assert third.get("skip") is None
    assert third.fetch("skip") is True
    assert third.fetch("lang") == "en"
    assert third.fetch("nothing", "else") == "else"


def test_a_value_that_is_said_counts_over_the_systems():
    node = find("# x\n\n---\n~summary: s\nsummary=:\n---\n\n## y\n", "y")
    assert node.get("summary", "none said") is None


def test_titles_path():
    third = find(BOOK, "third")
    assert titles_path(third) == names(third.ancestors) == ["Book", "One", "Deep"]
    assert titles_path(find("---\ntitle: T\n---\n\n# T\n\n## a\n\nx\n", "x")) == ["T", "a"]


def test_a_document_that_gives_no_title_is_named_and_nothing_is_written():
    text = "text\n\nmore\n"
    root = blocks_to_tree(parse_markdown_text(text), name="notes")
    assert (type(root), root.title, root.get("title"), titles_path(root.texts[0])) == (HeaderNode, "notes", None, [])
    assert tree_of("text\n\n# First\n").title == "First"
    assert serialize_tree(root) == text


def test_a_tree_from_a_file_and_to_a_file(tmp_path):
    path = tmp_path / "01-means.md"
    path.write_text("text\n")
    assert load_tree(path).title == "01-means"
    save_tree(load_tree(path), tmp_path / "copy.md")
    assert (tmp_path / "copy.md").read_text() == path.read_text() == "text\n"


def test_an_error_block_is_a_text_node_and_comes_back():
    text = "# h\n\n---\na: [\n---\n\ntext\n"
    root = tree_of(text)
    node = root.sections[0].children[0]
    assert (type(node), type(node.block), node.content) == (TextNode, ErrorBlock, "")
    again = parse_markdown_text(serialize_tree(root))
    assert again[1] == node.block


def test_the_empty_list_is_the_empty_tree():
    assert blocks_to_tree([]) is None and tree_to_blocks(None) == []


def test_a_map_puts_blocks_in_place_of_those_of_a_node_and_leaves_the_tree_that_it_was_given():
    tree = tree_of("# One\n\nfirst\n\nsecond\n")
    note = make_block("by: hand\n", "div")
    made = map_tree(tree, lambda node: {"first": [], "second": [note, *node.blocks]}.get(node.content, node.blocks))
    assert serialize_tree(made) == "# One\n\n" + note.source + "second\n"
    assert (find_in(made, "second").get("by"), serialize_tree(tree)) == ("hand", "# One\n\nfirst\n\nsecond\n")
