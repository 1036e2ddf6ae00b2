"""What is read of a reply, and what is not."""

import pytest
from hypothesis import given

from lmm_core.llmd.reply import ChangelogText, Replacement, parse_reply
from tests.llmd_texts import replies

BLOCK = "<<<<<< SEARCH\nold\n=======\nnew\n>>>>>> REPLACE"


def problems_of(text):
    """Line and message of each problem."""
    return [(problem.line, problem.message) for problem in parse_reply(text).problems]


def test_the_three_tools():
    reply = parse_reply(
        "I do it.\n\nsrc/a.py\n<<<<<< SEARCH\none\n\n  two\n=======\nthree\n>>>>>> REPLACE\n\n"
        "<<<<<< SEARCH_MISSION\nold\n=======\nnew\nand more\n>>>>>> REPLACE_MISSION\n"
        "<<<<<< CHANGELOG\nTwo are three.\n>>>>>> CHANGELOG\n\nDone."
    )
    assert reply.problems == []
    assert reply.files == [Replacement("src/a.py", ("one", "", "  two"), ("three",), 4)]
    assert reply.missions == [Replacement("", ("old",), ("new", "and more"), 12)]
    assert reply.changelog == [ChangelogText("Two are three.", 18)]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("* one\n  more\n* two", ["one\nmore", "two"]), ("one:\n- two", ["one:\n- two"]),
        ("- one\n\n- two\n  - three", ["one", "two\n- three"]), ("**one**", ["**one**"]),
    ],
)  # fmt: skip
def test_a_changelog_that_is_a_list_already(text, items):
    reply = parse_reply(f"<<<<<< CHANGELOG\n{text}\n>>>>>> CHANGELOG")
    assert reply.changelog == [ChangelogText(item, 1) for item in items]


@pytest.mark.parametrize("signs", [5, 9])
def test_marks_of_five_to_nine_signs(signs):
    text = f"a.py\n{'<' * signs} SEARCH\nold\n{'=' * signs}\nnew\n{'>' * signs} REPLACE  \n"
    assert parse_reply(text).files == [Replacement("a.py", ("old",), ("new",), 2)]
    assert parse_reply(text.replace("\n", "\r\n")) == parse_reply(text)


@pytest.mark.parametrize(
    ("before", "path"),
    [
        ("src/a.py\n\n", "src/a.py"), ("**`src/a.py`**:\n", "src/a.py"), ("./a.py\n", "a.py"), ("Makefile\n", "Makefile"),
        ("b.py\n\n```python src/a.py\n", "src/a.py"), ("../a.py\n", "../a.py"), ("#### `my notes.md`\n", "my notes.md"),
    ],
)  # fmt: skip
def test_paths(before, path):
    reply = parse_reply(before + BLOCK + ("\n```" if "```" in before else ""))
    assert [one.path for one in reply.files] == [path], reply.problems


@pytest.mark.parametrize("before", ["", "Change this file:\n", "```\ncode\n```\n", f"a.py\n{BLOCK}\n"])
def test_no_path(before):
    line = before.count("\n") + 1
    assert [at for at, message in problems_of(before + BLOCK) if "has no path" in message] == [line]


MALFORMED = [
    ("<<<<<< SEARCH", 1, "has no end"),
    (">>>>>> REPLACE", 1, "ends no block"),
    ("a.py\n<<<<<< SEARCH\nold\n>>>>>> REPLACE", 2, "no line `=======`"),
    (f"a.py\n<<<<<< SEARCH\nold\n=======\nnew\n\nb.py\n{BLOCK}", 2, "has no end"),
    ("a.py\n<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>> REPLACE", 2, "lines 4, 6 may all"),
]


NEARLY = [
    "<<< SEARCH src/a.py",
    "<<<<<< search",
    "<<<<<< SEARCH_MISSON",
    "**<<<<<< SEARCH**",
    "&lt;&lt;&lt;&lt;&lt;&lt; SEARCH",
]


@pytest.mark.parametrize("line", NEARLY)
def test_a_line_that_is_nearly_a_mark_is_told(line):
    problems = problems_of(f"src/a.py\n{line}\nold\n=======\nnew\n")
    assert [at for at, message in problems if "is not a mark: write 5 to 9 signs" in message] == [2]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_what_is_malformed_is_told_with_its_line(text, line, message):
    found = problems_of(text)
    assert any(at == line and message in said for at, said in found), found


@pytest.mark.parametrize("tags", [("<think>", "</think>"), ("", "</think>")])
def test_a_draft_in_the_thoughts_is_no_block(tags):
    thoughts = f"{tags[0]}\nPerhaps:\n\na.py\n{BLOCK}\n<<<<<< SEARCH>\n{tags[1]}\n\n"
    reply = parse_reply(f"{thoughts}b.py\n{BLOCK}")
    assert [(one.path, one.line) for one in reply.files] == [("b.py", thoughts.count("\n") + 2)]
    assert reply.problems == []


INSIDE = [
    ("<<<<<< SEARCH\nTitle\n=====\n=======\nTitle\n>>>>>> REPLACE", ("Title", "====="), ("Title",)),
    (
        "<<<<<< SEARCH\n<<<<<<< HEAD\n=======\nnew\n>>>>>>> main\n>>>>>> REPLACE",
        ("<<<<<<< HEAD",),
        ("new", ">>>>>>> main"),
    ),
]


@pytest.mark.parametrize(("text", "search", "new"), INSIDE)
def test_what_looks_like_marks_inside_a_block(text, search, new):
    reply = parse_reply(f"Text\n\nnotes.md\n{text}\n")
    assert reply.problems == []
    assert reply.files == [Replacement("notes.md", search, new, 4)]


@pytest.mark.parametrize("text", ["Use `<<<<<< SEARCH` for this.", "Title\n=======\n\ntext", ">>> search(text)", ""])
def test_what_is_no_block(text):
    assert parse_reply(text) == parse_reply("")


@given(replies)
def test_any_reply_is_read(text):
    reply = parse_reply(text)
    lines = text.split("\n")
    for one in [*reply.files, *reply.missions, *reply.changelog]:
        assert lines[one.line - 1].startswith("<<<<<")
    for one in reply.files:
        assert one.path
        assert f"{chr(10).join(one.search)}" in text.replace("\r\n", "\n")
    assert all(1 <= problem.line <= len(lines) for problem in reply.problems)
