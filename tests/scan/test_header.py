"""The header pass: every document gets a title and an id."""

import pytest

from lmm_core.logging import ListLogger
from lmm_core.markdown import HeaderBlock, parse_markdown_text, serialize_blocks
from lmm_core.scan import scan


def header(text, name="notes", docid="notes.md"):
    """Return the content of the header after the pass."""
    first = scan(parse_markdown_text(text), name, docid, ListLogger())[0]
    return first.content if isinstance(first, HeaderBlock) else None


def scanned(text, name="notes", docid="notes.md", logger=None):
    return serialize_blocks(scan(parse_markdown_text(text), name, docid, logger or ListLogger()))


def test_a_header_is_made():
    assert scanned("# A\n\ntext\n").startswith("---\n~title: A\n~docid: notes.md\n")
    assert scanned("# A\n\ntext\n").endswith("\n---\n\n# A\n\ntext\n")


def test_the_title_is_the_first_headings():
    assert header("text\n\n## First {#a}\n\n# Second\n")["~title"] == "First"


def test_without_heading_the_title_is_the_files_name():
    assert header("text\n")["~title"] == "notes"


def test_headings_that_are_none_give_no_title():
    assert header("```\n\n# a comment\n```\n")["~title"] == "notes"


def test_a_plain_title_is_never_written():
    assert "title" not in header("# A\n")


@pytest.mark.parametrize("key", ["title", "title="])
def test_the_writers_title_is_kept(key):
    found = header(f"---\n{key}: Mine\ndocid: d\n---\n\n# A\n")
    assert found == {key: "Mine", "docid": "d"}


def test_an_empty_title_means_none_wanted():
    assert scanned("---\ntitle=:\ndocid: d\n---\n\n# A\n") == "---\ntitle=:\ndocid: d\n---\n\n# A\n"


def test_what_the_writer_has_stays_byte_for_byte():
    text = "--- # mine\nauthor:   'A: B'   # who\n\ndate: 2024-01-02\ntags: [a,   b]\n---\n\n# A\n"
    made = scanned(text)
    assert made.startswith("--- # mine\nauthor:   'A: B'   # who\n\ndate: 2024-01-02\ntags: [a,   b]\n~title: A\n")
    assert made.endswith("---\n\n# A\n")


def test_a_second_run_changes_nothing():
    once = scanned("# A\n\ntext\n")
    assert scanned(once) == once


def test_the_title_follows_the_heading():
    changed = scanned("# A\n\ntext\n").replace("# A", "# B")
    assert header(changed)["~title"] == "B"


def test_a_corrected_title_is_kept():
    corrected = scanned("# A\n\ntext\n").replace("~title: A", "~title: Mine")
    assert header(corrected.replace("# A", "# B"))["~title"] == "Mine"


def test_docid_follows_the_file():
    assert header(scanned("# A\n"), docid="moved/notes.md")["~docid"] == "moved/notes.md"


def test_the_writers_docid_is_kept():
    assert "~docid" not in header("---\ndocid: mine\n---\n\n# A\n")


def test_without_docid_none_is_written():
    assert "~docid" not in header("# A\n", docid="")


@pytest.mark.parametrize("text", ["", "\n", " \n\n", "\ufeff"])
def test_an_empty_document_stays_empty(text):
    assert scanned(text) == text


def test_title_lines_get_no_header_above_them():
    text = "% My notes\n% A. Teacher\n\n# A\n"
    logger = ListLogger()
    assert scanned(text, logger=logger) == text
    assert logger.count("warning") == 1
    assert "write the front matter as YAML" in logger.reports[0].message


def test_a_percent_sign_later_is_no_title_line():
    assert header("text\n\n% x\n") is not None


def test_no_header_above_a_broken_one():
    text = "---\ntitle: [a\n---\n\n# A\n"
    logger = ListLogger()
    assert scanned(text, logger=logger) == text
    assert logger.count("error") == 1


def test_the_mark_stays_first():
    assert scanned("\ufeff# A\n").startswith("\ufeff---\n~title: A\n")
    assert "\ufeff" not in scanned("\ufeff# A\n")[1:]


def test_line_ends_are_the_documents():
    made = scanned("# A\r\n\r\ntext\r\n")
    assert "\n" not in made.replace("\r\n", "")


def test_a_div_at_the_start_stays_behind_the_header():
    made = scanned("::: lmm\n```yaml\na: 1\n```\n:::\n\n# A\n")
    kinds = [type(block).__name__ for block in parse_markdown_text(made)]
    assert kinds == ["HeaderBlock", "MetadataBlock", "HeadingBlock"]


def test_a_rule_at_the_start_stays_a_rule():
    made = scanned("---\n\ntext\n")
    assert made.endswith("\n---\n\n---\n\ntext\n")
    assert len(parse_markdown_text(made)) == 3


def test_a_header_in_braces_is_left_and_reported():
    text = "---\n{author: x}\n---\n\n# A\n"
    logger = ListLogger()
    assert scanned(text, logger=logger) == text
    assert [(report.level, report.line) for report in logger.reports] == [("error", 1)]


def test_errors_are_reported_with_their_line():
    logger = ListLogger()
    scanned("# A\n\n---\nb: 1\na: 'x\n---\n\ntext\n", logger=logger)
    assert [(report.level, report.line in (5, 6)) for report in logger.reports] == [("error", True)]
