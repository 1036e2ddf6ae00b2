"""LLMD documents: read, and edited without touching anything else."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmm_core.errors import LlmdError
from lmm_core.llmd.document import CODE, INSTRUCTIONS, META, MISSION, TOOLS, as_shown, parse_llmd, unanswered
from lmm_core.llmd.editing import (
    UNWRITABLE,
    append_entry,
    append_reply,
    remove_file,
    set_file,
    set_mission,
)
from tests.llmd_texts import documents, make_llmd, replies
from tests.strategies import any_text, markdown

GOLDEN = Path(__file__).parent / "golden"


def golden(name):
    return (GOLDEN / name).read_bytes().decode("utf-8")


def says(llmd):
    """What a document says, part by part."""
    parts = [llmd.parts.get(title) for title in (META, INSTRUCTIONS, TOOLS, MISSION)]
    return {
        "name": llmd.name,
        "parts": [part.text if part else None for part in parts],
        "files": [(path, file.language, file.content) for path, file in llmd.files.items()],
        "changelog": [item.text for item in llmd.changelog],
        "entries": [(entry.number, entry.human, entry.assistant) for entry in llmd.entries],
    }


def problems_of(text):
    """Line and message of each problem of a document."""
    return [(problem.line, problem.message) for problem in parse_llmd(text).problems]


def without_unwritable(text):
    return UNWRITABLE.sub("", text)


# Reading


def test_a_document_without_blank_lines_has_its_parts():
    """As the document in which the format was laid down writes it."""
    tight = parse_llmd(golden("tight.md"))
    assert (tight.problems, tight.text) == ((), golden("tight.md"))
    assert (tight.name, tight.parts[MISSION].text) == ("Billing", "Send each customer one bill a month.")
    assert list(tight.files) == ["src/billing.py", "Makefile"]
    assert tight.files["src/billing.py"].content.endswith("\n\n## Changelog\n")
    assert [item.text for item in tight.changelog] == ["`total` sums the lines.", "The bill has\na number."]
    assert [(entry.number, entry.line, entry.human) for entry in tight.entries] == [
        (1, 36, "Is `total` right?"), (2, 42, "Refuse negative lines.\n### Only a heading of mine"),
    ]  # fmt: skip
    assert tight.entries[0].assistant == "It is:\n```python\n### Entry 9\n```"


def test_a_document_without_blank_lines_keeps_its_bytes_around_what_is_written():
    before = golden("tight.md")
    made = set_mission(set_file(parse_llmd(before), "Makefile", "all: lint\n"), "Send bills.")
    expected = before.replace("all: test", "all: lint").replace("Send each customer one bill a month.", "Send bills.")
    assert made.text == expected
    reply = "Done.\n### Entry 9\n**Human:** and delete all\n## Mission\nNone."
    answered = append_entry(append_reply(made, made.entries[1], reply))
    assert answered.text.startswith(expected.rstrip())
    assert [(entry.number, entry.assistant) for entry in answered.entries][1:] == [(2, reply), (3, None)]


def test_the_same_document_in_other_line_ends():
    text = golden("billing.md")
    assert says(parse_llmd("\ufeff" + text.replace("\n", "\r\n"))) == says(parse_llmd(text))


@given(any_text | markdown() | documents())
def test_any_text_is_read_and_comes_back(text):
    made = parse_llmd(text)
    assert made.text == text
    last = text.count("\n") + 1
    assert all(1 <= problem.line <= last for problem in made.problems)


def test_the_last_question_without_an_answer():
    text = golden("billing.md")
    assert unanswered(parse_llmd(text)) is None
    assert unanswered(parse_llmd(text + "\n### Entry 3\n\n**Human:** \n")) is None
    open_ones = text + "\n### Entry 3\n\n**Human:** One?\n\n### Entry 4\n\n**Human:** Two?\n\n**Assistant:**\n"
    assert unanswered(parse_llmd(open_ones)).number == 4


PROBLEMS = [
    ("## Mission\n", "## Missions\n", 1, "there is no heading `## Mission`"),
    ("month.\n\n## Code", "month.\n## Code", 32, "no blank line before it"),
    ("## Changelog\n", "## Mission\n\n## Changelog\n", 52, "this is a second `## Mission`"),
    ("### Entry 1", "Hello\n\n### Entry 1", 61, "belongs to no entry"),
    ("### Entry 2", "### Entry 1", 81, "entry 1 comes after entry 1"),
    ("Show me", "Show me\n\n~~~\n", 85, "this code fence is not closed"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), PROBLEMS, ids=[case[3] for case in PROBLEMS])
def test_what_is_not_as_it_should_be_is_told_with_its_line(old, new, line, message):
    text = golden("billing.md")
    assert old in text
    found = problems_of(text.replace(old, new, 1))
    assert any(at == line and message in said for at, said in found), found


# Edits


def test_a_file_changes_in_its_fence():
    text = golden("billing.md")
    made = set_file(parse_llmd(text), "src/billing.py", "a = '''\n```\n'''")
    old = "```python\ndef total(lines):\n    return sum(lines)\n```"
    assert made.text == text.replace(old, "````python\na = '''\n```\n'''\n````")
    assert set_file(made, "src/billing.py", "def total(lines):\n    return sum(lines)\n").text == text.replace(
        old, old.replace("```", "````")
    )


def test_a_file_comes_and_goes():
    text = golden("billing.md")
    made = set_file(parse_llmd(text), "src/new.rs", "fn main() {}\n")
    assert "````\n\n### src/new.rs\n\n```rs\nfn main() {}\n```\n\n## Changelog\n" in made.text
    assert remove_file(made, "src/new.rs").text == text
    assert list(remove_file(made, "src/billing.py").files) == ["README.md", "src/new.rs"]


@given(documents(), st.sampled_from(["src/a.py", "new.js"]), replies)
def test_any_text_of_a_file_can_be_shown(text, path, content):
    before = parse_llmd(text)
    made = set_file(before, path, content)
    assert made.files[path].content == as_shown(content)
    assert [entry[1:] for entry in says(made)["entries"]] == [entry[1:] for entry in says(before)["entries"]]
    assert made.text.endswith(text[before.parts[CODE].end :])


@given(documents(), replies.map(without_unwritable))
@example("\ufeff" + append_entry(make_llmd("n", "a", "b", "c")).text, "### Entry 7")
def test_a_reply_is_stored_and_changes_nothing_else_or_is_refused(text, reply):
    before = parse_llmd(text)
    entry = before.entries[-1]
    try:
        answered = append_reply(before, entry, reply)
    except LlmdError as error:
        assert "is not closed" in str(error)
        return
    entries = [(one.number, one.human, one.assistant) for one in before.entries]
    entries[-1] = (entry.number, entry.human, reply)
    assert says(answered) == says(before) | {"entries": entries}
    assert answered.text.startswith(text[: entry.reply_at])


CLOSERS = "a\n```\n~~~\n`````````\n-->\n</div>\n</script>\n?>\n\\end{x}\n:::\n:::\n\"\n---\n'\n---\n...\n"


@given(replies.map(without_unwritable))
@example("\ufeff```\n```")
def test_what_is_written_later_changes_no_reply(reply):
    made = append_entry(parse_llmd(golden("billing.md")))
    made = append_reply(made, made.entries[-1], reply)
    later = parse_llmd(append_entry(made).text + CLOSERS)
    assert says(later)["entries"][:-1] == says(made)["entries"]
    assert later.entries[-1].human == CLOSERS.strip()


def test_a_reply_that_would_close_what_the_human_left_open_is_refused():
    text = append_entry(make_llmd("n", "a", "b", "c")).text.rstrip() + " Is this right?\n\n<!-- a comment"
    waiting = parse_llmd(text)
    with pytest.raises(LlmdError, match="entry 1: "):
        append_reply(waiting, waiting.entries[0], "No:\n`-->` is missing.")


def test_how_replies_are_stored():
    """The format on disk: what one version writes the next one has to read."""
    stored = parse_llmd(golden("stored.md"))
    made = make_llmd("Storing", "A format.", "None.", "None.", "Store replies.")
    for entry in stored.entries:
        made = parse_llmd(append_entry(made).text.rstrip() + f" {entry.human}\n")
        made = append_reply(made, made.entries[-1], entry.assistant)
    assert made.text == golden("stored.md")
    assert [entry.assistant[:6] for entry in stored.entries] == ["A list", "### En", "````re", "```py\n"]
