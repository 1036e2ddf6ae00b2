"""Defects of earlier programs: one test for each, by its number."""

import pytest

from lmm_core.errors import MarkdownError
from lmm_core.logging import ListLogger
from lmm_core.markdown import (
    DELETED,
    HeaderBlock,
    MetadataBlock,
    TextBlock,
    blocks_to_tree,
    edit_block,
    parse_markdown_text,
    read_markdown,
    serialize_blocks,
    serialize_tree,
)
from lmm_core.scan import ScanOpts, scan
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, knitted, outside_metadata

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
ONE = f"{HEADER}# A\n\n{LONG}\n"


def kinds(text):
    return [type(block).__name__.removesuffix("Block") for block in parse_markdown_text(text)]


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_b1_only_line_feeds_end_lines(separator):
    text = f"{HEADER}text{separator}{separator}# no heading{separator}---\n"
    assert kinds(text) == ["Header", "Text"]
    assert outside_metadata(annotate(text)) == outside_metadata(text)


def test_b2_trailing_blanks_stay():
    text = f"# A\n\nhard break  \nhere\t\n\n```\ncode  \n  \n```\n\n{PROSE}\n"
    assert outside_metadata(annotate(text)) == text


def test_b3_a_header_behind_a_mark_is_the_header():
    assert kinds("\ufeff---\ntitle: T\n---\n\ntext\n") == ["Header", "Text"]


@pytest.mark.parametrize(("opened", "closed"), [("---  ", "---"), ("---", "---\t"), ("---", "...  ")])
def test_b4_markers_may_have_blanks_behind_them(opened, closed):
    assert kinds(f"text\n\n{opened}\na: 1\n{closed}\n\ntext\n") == ["Text", "Metadata", "Text"]


@pytest.mark.parametrize(
    "around", ["```\n{}```\n", "~~~\n{}~~~\n", "<!--\n{}-->\n", "- item\n\n{}", "::: note\n{}:::\n"]
)
def test_b5_what_is_in_code_is_no_heading_and_no_metadata(around):
    indent = "      " if around.startswith("-") else ""
    inside = f"\n{indent}# comment\n\n{indent}---\n{indent}a: 1\n{indent}---\n"
    assert kinds("text\n\n" + around.format(inside)) == ["Text", "Text"]


@pytest.mark.parametrize("text", ["...\n", "...\n\ntext\n\n# A\n", "text\n\n...\nmore\n", "...  # x\n\n---\na: 1\n"])
def test_b6_a_block_may_start_with_dots(text):
    assert serialize_blocks(parse_markdown_text(text)) == text
    assert ("# A" in text) == ("Heading" in kinds(text))


DEEP = "---\ntitle: T\ndeep: {a: [{b: [{c: 1}]}]}\ndate: 2024-01-02\n---\n\ntext\n"


def test_b7_deep_values_and_dates_stay_as_they_are():
    made = annotate(DEEP)
    assert made.startswith("---\ntitle: T\ndeep: {a: [{b: [{c: 1}]}]}\ndate: 2024-01-02\n~docid: notes.md\n")


@pytest.mark.parametrize(("sign", "text"), [("?", "why: so?"), ("+", "more"), ("=", "shorter")])
def test_b8_short_keys_work(sign, text):
    block = parse_markdown_text(f"text\n\n---\n{sign}: {text}\n---\n\n# A\n")[1]
    assert [(message.key, message.text) for message in block.messages] == [(sign, text)]


def test_b9_a_paragraph_that_speaks_of_errors_stays():
    text = f"** ERROR: not found **\n\n{PROSE}\n"
    assert outside_metadata(annotate(text)) == text
    assert knitted(text) == text


def test_b10_a_wrong_byte_late_in_a_file_is_an_error(tmp_path):
    path = tmp_path / "late.md"
    path.write_bytes(b"a" * 5000 + b"\xff\n")
    with pytest.raises(MarkdownError, match="byte 5000"):
        read_markdown(path)


@pytest.mark.parametrize("end", ["\n", "", "\n\n"])
def test_b11_the_end_of_the_text_stays(end):
    text = f"# A\n\n{PROSE}{end}"
    assert annotate(text).endswith(text)
    assert knitted(text) == text


def test_b12_editing_keeps_how_values_are_written():
    body = "# c\nversion: 1.10\nagree: yes\ncode: 0123\nat: 12:30\nq: 'x'\nflow: [a,  b]\n"
    body += "text: |\n  one\n  two\na: &x 1\nb: *x\n"
    block = parse_markdown_text(f"text\n\n---\n{body}old: 1\n---\n")[1]
    assert edit_block(block, {"new": "v"}).body == f"{body}old: 1\nnew: v\n"
    assert edit_block(block, {"old": DELETED}).body == body


def test_b13_a_block_with_just_a_date_stays():
    text = "text\n\n---\ndate: 2024-01-02\n---\n\n# A\n"
    assert serialize_tree(blocks_to_tree(parse_markdown_text(text))) == text
    assert "---\ndate: 2024-01-02\n---" in annotate(text)


@pytest.mark.parametrize("text", ["---\ntitle: Title\n---\n\ntext\n", "---\ntitle: Title\ndocid: d\n---\n\n# A\n"])
def test_b14_a_document_called_title_is_not_renamed(text):
    first = scan(parse_markdown_text(text), "notes", "d", ListLogger())[0]
    assert isinstance(first, HeaderBlock)
    assert first.content["title"] == "Title"
    assert "~title" not in first.content


def test_b22_wrapping_is_no_change_and_a_paragraph_break_is():
    once = annotate(ONE)
    wrapped, broken = CountingAnnotator(), CountingAnnotator()
    annotate(once.replace("number. It", "number.\nIt"), wrapped)
    annotate(once.replace("number. It", "number.\n\nIt"), broken)
    assert wrapped.calls == 0
    assert broken.calls > 0


def test_b23_a_section_that_shrank_keeps_no_old_summary():
    made = annotate(annotate(ONE).replace(LONG, "Short."))
    assert "~summary" not in made
    assert "~questions" not in made
    annotator = CountingAnnotator()
    assert annotate(made, annotator) == made
    assert annotator.calls == 0


def test_b24_questions_and_summaries_have_hashes_of_their_own():
    summaries, questions = ScanOpts(questions=False), ScanOpts(summaries=False)
    changed = annotate(annotate(ONE), CountingAnnotator()).replace("sum of its", "sum of all")
    annotator = CountingAnnotator()
    annotate(annotate(changed, opts=summaries), annotator, questions)
    assert annotator.calls == 1


def test_b27_frozen_true_freezes():
    text = ONE.replace("# A", "---\nfrozen: true\n---\n\n# A")
    annotator = CountingAnnotator()
    annotate(text, annotator)
    assert ("T", "A") not in [asked.titles for asked in annotator.sections]


@pytest.mark.parametrize("block", ["---\nfrozen = true\n---\n", "::: lmm\n```yaml\nfrozen = true\n```\n:::\n"])
def test_b27_frozen_with_an_equals_sign_does_not_stop_the_rest(block):
    text = f"{ONE}\n{block}\n# B\n\n{LONG}\n"
    assert any(type(found) is not MetadataBlock and isinstance(found, TextBlock) for found in parse_markdown_text(text))
    made = annotate(text)
    assert block in made
    assert made.count("~questions") == 2
