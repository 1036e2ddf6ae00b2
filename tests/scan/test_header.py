"""The header pass: every document gets a title and an id."""

import pytest

from lmm_core.logging import ListLogger
from lmm_core.markdown import HeaderBlock, parse_markdown_text, serialize_blocks
from lmm_core.scan.header import scan


def header(text, name="notes", docid="notes.md"):
    """Return the content of the header after the pass."""
    first = scan(parse_markdown_text(text), name, docid, ListLogger())[0]
    return first.content if isinstance(first, HeaderBlock) else None


def scanned(text, logger=None):
    return serialize_blocks(scan(parse_markdown_text(text), "notes", "notes.md", logger or ListLogger()))


@pytest.mark.parametrize("text", ["# A\n\ntext\n", "---\n\ntext\n", "::: lmm\n```yaml\na: 1\n```\n:::\n\n# A\n"])
@pytest.mark.parametrize(("mark", "newline"), [("", "\n"), ("\ufeff", "\r\n")])
def test_a_header_is_written_before_the_text(text, mark, newline):
    text = text.replace("\n", newline)
    made = scanned(mark + text)
    assert made.startswith(f"{mark}---{newline}~title: ")
    assert made.endswith(f"---{newline}{newline}{text}")
    assert made.count("\n") == made.count(newline)
    assert scanned(made) == made


@pytest.mark.parametrize(
    ("text", "title"),
    [("text\n\n## First {#a}\n\n# Second\n", "First"), ("text\n", "notes"), ("```\n\n# a comment\n```\n", "notes")],
)
def test_the_title_is_that_of_the_first_heading_or_the_files_name(text, title):
    assert header(text)["~title"] == title


@pytest.mark.parametrize("title", ["title: Mine", "title=:"])
def test_the_writers_title_and_docid_are_kept(title):
    text = f"---\n{title}\ndocid: d\n---\n\n# A\n"
    assert scanned(text) == text


def test_what_the_writer_has_stays_byte_for_byte():
    body = "--- # mine\nauthor:   'A: B'   # who\n\ndate: 2024-01-02\ndeep: {a: [{b: [1.10]}]}\n"
    made = scanned(f"{body}---\n\n# A\n")
    assert made.startswith(f"{body}~title: A\n")
    assert made.endswith("---\n\n# A\n")


def test_title_and_docid_follow_the_heading_and_the_file_unless_corrected():
    once = scanned("# A\n\ntext\n")
    assert header(once.replace("# A", "# B"))["~title"] == "B"
    assert header(once.replace("~title: A", "~title: Mine").replace("# A", "# B"))["~title"] == "Mine"
    assert header(once, docid="moved/notes.md")["~docid"] == "moved/notes.md"


@pytest.mark.parametrize("text", ["", " \n\n", "\ufeff"])
def test_an_empty_document_stays_empty(text):
    assert scanned(text) == text


@pytest.mark.parametrize(
    ("text", "level", "line"),
    [
        ("% My notes\n% A. Teacher\n\n# A\n", "warning", 1),
        ("---\ntitle: [a\n---\n\n# A\n", "error", 2),
        ("---\n{author: x}\n---\n\n# A\n", "error", 1),
    ],
    ids=["title lines", "broken", "in braces"],
)
def test_a_header_that_cannot_be_written_is_left_and_reported(text, level, line):
    logger = ListLogger()
    assert scanned(text, logger) == text
    assert [(report.level, abs(report.line - line) <= 1) for report in logger.reports] == [(level, True)]
