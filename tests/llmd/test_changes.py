"""What a reply makes of files and document: all of it, or nothing."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lmm_core.llmd.changes import FileChange, plan
from lmm_core.llmd.document import as_shown, parse_llmd
from lmm_core.llmd.reply import ParsedReply, Replacement, parse_reply
from tests.llmd_texts import replies
from tests.strategies import any_text

TEXT = (Path(__file__).parent / "golden" / "billing.md").read_text(encoding="utf-8")
CODE = "def total(lines):\n    return sum(lines)\n"
LOG = "\n\n<<<<<< CHANGELOG\nSomething else.\n>>>>>> CHANGELOG\n"


def block(path, search, new):
    return f"{path}\n<<<<<< SEARCH\n{search}=======\n{new}>>>>>> REPLACE\n"


def planned(reply, texts=None, document=TEXT):
    files = {"src/billing.py": CODE, "README.md": "# Billing\n\n```\nmake bills\n```\n"} if texts is None else texts
    return plan(parse_llmd(document), files.get, parse_reply(reply))


def problems_of(reply, texts=None):
    made = planned(reply, texts)
    assert made.changes == () and made.document.text == TEXT
    return [(problem.line, problem.message) for problem in made.problems]


def test_the_reply_in_the_document():
    llmd = parse_llmd(TEXT)
    new = "def total(lines):\n    # Cents.\n    return round(sum(lines), 2)\n"
    made = planned(llmd.entries[0].assistant)
    assert made.problems == () and made.warnings == ()
    assert made.changes == (FileChange("src/billing.py", CODE, new),)
    expected = TEXT.replace(f"```python\n{CODE}", f"```python\n{new}")
    assert made.document.text == expected.replace("half up.\n", "half up.\n- Totals are rounded to cents.\n")


@pytest.mark.parametrize(
    ("old", "search", "new", "after"),
    [
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\r\nb\r\n", "a\nb\n", "c\nd\ne\n", "c\r\nd\r\ne\r\n"),
        ("\ufeffa\nb\n", "a\n", "c\n", "\ufeffc\nb\n"),
        ("a\n", "a\n", "", None),
        (None, "\n", "a\n\nb\n", "a\n\nb\n"),
    ],
)
def test_lines_are_replaced(old, search, new, after):
    made = planned(block("f", search, new) + LOG, {} if old is None else {"f": old})
    assert made.problems == ()
    assert made.changes == (FileChange("f", old, after),)
    assert after is None or made.document.files["f"].content == as_shown(after)


@pytest.mark.parametrize(
    ("old", "search", "new", "after"),
    [
        ("u\u0308ber\no\u0308l\n", "\u00fcber\n\u00f6l\n", "\u00fcber\nwein\n", "u\u0308ber\nwein\n"),
        ("a \na\n", "a\n", "b\n", "a \nb\n"),
    ],
)
def test_differences_that_nobody_sees(old, search, new, after):
    """The text is found, and the lines that stay keep their bytes; what is there exactly goes first."""
    made = planned(block("f", search, new) + LOG, {"f": old})
    assert (made.problems, made.changes) == ((), (FileChange("f", old, after),))


REFUSED = [
    ({"a": "x\ny\nx\n"}, block("a", "x\n", "z\n"), "occurs in lines 1, 3"),
    ({"a": "x\n"}, block("a", "", "z\n"), "the file already exists"),
    ({}, block("a", "x\n", "z\n"), "there is no such file"),
    ({"x {.y}": "x\n"}, block("`x {.y}`", "x\n", "z\n"), "does not fit into the code context"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "reply", "message"), REFUSED)
def test_what_cannot_be_done_is_told(texts, reply, message):
    found = problems_of(reply, texts)
    assert [line for line, _ in found] == [2]
    assert message in found[0][1]


def test_a_near_miss_gets_the_closest_place_and_a_diff():
    text = "import math\n\n\ndef total(lines):\n\treturn sum(lines)\n"
    ((line, message),) = problems_of(block("a.py", "def total(lines):\n    return sum(lines)\n", "x\n"), {"a.py": text})
    assert line == 2 and "The closest text is in line 4:\n" in message
    assert message.endswith(" def total(lines):\n-\treturn sum(lines)\n+    return sum(lines)")


def mission(old, new):
    return f"<<<<<< SEARCH_MISSION\n{old}\n=======\n{new}\n>>>>>> REPLACE_MISSION\n"


def test_the_whole_mission_is_replaced():
    made = planned(mission("Send each customer one bill a month.", "Send three.\n\nAnd more."))
    assert made.problems == () and made.warnings == ()
    assert made.document.text == TEXT.replace("Send each customer one bill a month.", "Send three.\n\nAnd more.")


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (mission("Send each customer", "Send two."), "+Send each customer"),
        (mission("Send each customer one bill a month.", "a\n\n## Changelog"), "has a heading of the format"),
    ],
)
def test_a_mission_that_cannot_be(reply, message):
    found = problems_of(reply)
    assert [line for line, _ in found] == [1]
    assert message in found[0][1]


def test_code_without_a_changelog_entry_and_an_entry_about_nothing_are_flagged():
    made = planned("Hello\n\n" + block("src/billing.py", CODE, "x\n"))
    assert [(one.line, "without a CHANGELOG" in one.message) for one in made.warnings] == [(4, True)]
    assert made.changes and made.problems == ()
    assert [(one.line, "nothing but the changelog" in one.message) for one in planned(LOG).warnings] == [(3, True)]


lines = st.lists(st.sampled_from(["a", "b", "", "  c", "```", "# d", "}"]), max_size=8)


@given(lines, lines, lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_replacement_changes_its_lines_alone(before, search, after, newline, final):
    assume(search)
    whole = newline.join([*before, *search, *after]) + (newline if final else "")
    assume(newline in whole and (final or whole.split(newline)[-1]))
    made = plan(parse_llmd(TEXT), {"f": whole}.get, ParsedReply([Replacement("f", tuple(search), ("new", "lines"), 1)]))
    places = [at for at in range(len(before) + len(after) + 1)
              if [*before, *search, *after][at : at + len(search)] == search]  # fmt: skip
    if len(places) > 1:
        assert made.changes == () and "occurs in lines" in made.problems[0].message
    else:
        expected = newline.join([*before, "new", "lines", *after]) + (newline if final else "")
        assert made.changes == (FileChange("f", whole, expected),)


@given(replies, any_text)
def test_any_reply_is_planned_or_refused_whole(reply, content):
    read = parse_reply(reply)
    made = plan(parse_llmd(TEXT), dict.fromkeys(read.paths, content).get, read)
    if made.problems:
        assert (made.changes, made.document.text) == ((), TEXT)
    else:
        assert made.document.entries[-1].assistant == parse_llmd(TEXT).entries[-1].assistant
        assert [one.path for one in made.changes if one.new is not None] == [
            path for path in read.paths if path in made.document.files
        ]
