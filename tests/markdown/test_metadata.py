"""Reading and editing the YAML of a block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.errors import MarkdownError
from lmm_core.markdown import DELETED, edit_block, parse_markdown_text
from lmm_core.markdown.metadata.body import dump_entry, edit_metadata, key_spans, parse_metadata
from lmm_core.markdown.metadata.keys import digest, find_key
from lmm_core.markdown.spelling import make_block
from tests.strategies import KEYS, bodies, values


def content(body):
    return parse_metadata(body).content


def lines(body):
    """Lines as an editor counts them."""
    return [line + "\n" for line in body.split("\n")[:-1]]


def messages(body):
    return [(message.key, message.text) for message in parse_metadata(body).messages]


# Reading


@pytest.mark.parametrize(
    ("written", "read"),
    [("2024-01-02", "2024-01-02"), ("1.10", "1.10"), ("yes", True), ("!expr x", "x")],
)
def test_values(written, read):
    assert content(f"a: {written}\n") == {"a": read}


@pytest.mark.parametrize(
    ("body", "read"),
    [("1: a\n2024-01-02: b\n", {"1": "a", "2024-01-02": "b"}), ("# only a comment\n", {}), ("- a\n", None)],
)
def test_keys_are_text_and_only_a_mapping_has_content(body, read):
    assert content(body) == read


def test_an_error_has_its_line():
    found = parse_metadata("a: 1\nb: 'x\nc: 2\n")
    assert found.content is None and found.error and found.error_line >= 1


# Messages


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("?: Is #3 right: yes or no?\n", "Is #3 right: yes or no?"),
        ('?: "say \\"hi\\""\n', 'say "hi"'),
        ("?: |\n  one\n  two\n", "one\ntwo\n"),
        ("?: one\n\n  two\n", "one\n\ntwo"),
    ],
)
def test_the_text_of_a_message(body, read):
    assert messages(body) == [("?", read)]


@pytest.mark.parametrize("key", ["?", "+", "=", "query", "message", "edit"])
def test_the_six_message_keys(key):
    assert messages(f"{key}: say: what?\n") == [(key, "say: what?")]


def test_messages_repeat_and_keep_their_order():
    assert messages("?: one\na: 1\n+: two\n?: three\n") == [("?", "one"), ("+", "two"), ("?", "three")]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("a: 1\n?: Is #3 right: yes or no?\nb: [x]\n", {"a": 1, "b": ["x"]}),
        ("a:\n  query: x\nb: |\n  ?: y\n", {"a": {"query": "x"}, "b": "?: y\n"}),
        ("query:x\n", None),
    ],
)
def test_what_is_no_message(body, read):
    assert content(body) == read
    assert len(messages(body)) == body.count("Is #3")


# Editing


@given(bodies(), st.sampled_from([*KEYS, "new", "~new", "~~new"]), values)
def test_setting_a_key_changes_its_lines_alone(made, key, value):
    body, _ = made
    before = content(body)
    after = edit_metadata(body, {key: value}, "\r\n" if "\r" in body else "\n")
    assert content(after) == {**before, key: value}
    assert edit_metadata(after, {key: value}, "\r\n" if "\r" in body else "\n") == after
    if key in before:
        start, stop, _ = key_spans(body)[key]
        assert after.startswith("".join(lines(body)[:start]))
        assert after.endswith("".join(lines(body)[stop:]))
    else:
        kept = iter(lines(after))
        assert all(line in kept for line in lines(body))


@given(bodies(), st.sampled_from(KEYS))
def test_deleting_a_key_removes_its_lines_alone(made, key):
    body, keys = made
    after = edit_metadata(body, {key: DELETED})
    kept = lines(body)
    if key in keys:
        start, stop, _ = key_spans(body)[key]
        del kept[start:stop]
    assert after == "".join(kept)


@given(values, st.booleans())
def test_what_is_written_is_read_again(value, flow):
    assert content(dump_entry("key", value, flow=flow)) == {"key": value}


@pytest.mark.parametrize(
    "value",
    ["...", "a: b", "# c", "1.10", "two\nlines\n\n", " lead\nx", '"', "\x85", "nul\0", "", "\n", "{{< x >}}", "%y"],
)
def test_texts_that_are_hard_to_write(value):
    assert content(dump_entry("~summary", value)) == {"~summary": value}
    assert content(dump_entry("~questions", ["first", value])) == {"~questions": ["first", value]}


BODY = """\
# by hand
?: Is #3 right: yes or no?
title:   'A: B'   # why

version: 1.10
tags: [a,   b]
text: >-
  folded
  text
# about summary
~summary: old
~~hash: {summary: [a, b]}
"""


@pytest.mark.parametrize(
    ("changes", "before", "after"),
    [
        ({"~summary": "new"}, "summary: old", "summary: new"),
        ({"~questions": ["q"]}, "~~hash", "~questions:\n  - q\n~~hash"),
        ({"~~b": 1}, "[a, b]}\n", "[a, b]}\n~~b: 1\n"),
        ({"text": DELETED}, "text: >-\n  folded\n  text\n", ""),
        ({"version": 2}, "version: 1.10", "version: 2"),
    ],
    ids=["a value", "a new key", "a new private key", "a key of several lines", "beside a message"],
)
def test_all_else_stays_as_it_is_written(changes, before, after):
    assert edit_metadata(BODY, changes) == BODY.replace(before, after)


def test_messages_can_be_deleted():
    assert edit_metadata("a: 1\n?: one: x\n  more\nb: 2\n?: two\n", {"?": DELETED}) == "a: 1\nb: 2\n"


@pytest.mark.parametrize(
    ("body", "changes"), [("a: &x 1\nb: *x\n", {"a": DELETED}), ("{a: 1}\n", {"b": 2})], ids=["an anchor", "braces"]
)
def test_what_would_lose_a_value_is_refused(body, changes):
    with pytest.raises(MarkdownError):
        edit_metadata(body, changes)


# Blocks


def test_editing_a_block_keeps_its_markers():
    source = "--- # remark\na: 1\n...\n\n\n"
    block = parse_markdown_text("text\n\n" + source + "# h\n")[1]
    edited = edit_block(block, {"a": 2})
    assert edited.source == source.replace("1", "2")
    assert (edited.content, edited.body) == ({"a": 2}, "a: 2\n")


@pytest.mark.parametrize("after", ["", "text\n", "\n\n\n# h\n"])
def test_a_fence_in_a_value_does_not_end_the_div(after):
    source = "::: {#mine .lmm}\n``` yaml\na: 1\n```\n:::\n"
    edited = edit_block(parse_markdown_text("text\n\n" + source + after)[1], {"b": "````"})
    assert edited.source.startswith("::: {#mine .lmm}\n")
    assert edited.source.endswith(":::\n" + after[: len(after) - len(after.lstrip("\n"))])
    assert [block.content for block in parse_markdown_text(edited.source)] == [{"a": 1, "b": "````"}]


@given(values, st.sampled_from(["native", "div", "comment"]))
def test_a_made_block_holds_what_was_put_in(value, spelling):
    source = make_block(dump_entry("key", value), spelling).source
    blocks = parse_markdown_text("text\n\n" + source + "# h\n")
    assert len(blocks) == 3
    assert blocks[1].content == {"key": value}


@given(values)
def test_a_closed_entry_keeps_its_value_and_holds_no_dashes(value):
    entry = dump_entry("a--b", value, closed=True)
    assert "--" not in entry
    assert parse_metadata(entry).content == parse_metadata(dump_entry("a--b", value)).content == {"a--b": value}


@given(st.lists(st.text("ab:#'\"-é \\", max_size=12), max_size=40).map(" ".join), st.sampled_from(["k", "~summary"]))
def test_a_long_value_goes_on_in_the_next_line_and_stays_the_same(value, key):
    for made in (dump_entry(key, value), dump_entry(key, [value, {"in": value}])):
        assert list(parse_metadata(made).content) == [key]
        assert parse_metadata(made).content[key] in (value, [value, {"in": value}])
        longest = max((len(word) for word in value.split(" ")), default=0)
        assert max(map(len, made.splitlines())) < 110 + 4 * longest


def test_a_reply_with_dashes_turns_a_comment_into_a_div():
    block = parse_markdown_text("# h\n\n<!-- lmm\na: 1\n-->\n\n\ntext\n")[1]
    made = edit_block(block, {"~chat": [{"model": "See `--all`:\n\n| a |\n|---|"}]})
    assert (made.spelling, made.source[-3:]) == ("div", "\n\n\n")
    assert made.content["~chat"] == [{"model": "See `--all`:\n\n| a |\n|---|"}]
    assert edit_block(block, {"b": "a - b"}).spelling == "comment"


# Whose a key is


@pytest.mark.parametrize(
    ("properties", "counts"),
    [
        ({"~questions": 1, "questions": 2, "questions=": 3}, "questions="),
        ({"~questions": 1, "questions": 2}, "questions"),
        ({"~~questions": 1}, None),
    ],
)
def test_which_spelling_of_a_key_counts(properties, counts):
    assert find_key(properties, "questions") == counts


def test_a_digest_is_the_same_in_every_version():
    assert digest({"b": "Straße", "a": [1, None]}) == "57c2bd6c41"
