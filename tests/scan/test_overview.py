"""The overview that `lmm scan` shows."""

import pytest
from hypothesis import given

from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.scan import ScanOpts
from lmm_core.scan.annotations.overview import overview
from lmm_core.scan.check.document import CheckedDocument
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, markdown

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
ONE = f"{HEADER}# A\n\n{LONG}\n"


def seen(text, opts=None):
    return overview(CheckedDocument(parse_markdown_text(text)), opts=opts)


def first(text):
    return seen(text).sections[0]


def test_title_docid_and_words():
    found = seen(f"{HEADER}preface words\n\n# A\n\nthree more words\n")
    assert (found.title, found.docid, found.words) == ("T", "d", 5)


def test_sections_in_their_order():
    found = seen("# A {#a}\n\none two\n\n### B\n\nthree\n").sections
    assert [(s.line, s.level, s.title, s.words) for s in found] == [(1, 1, "A", 2), (5, 3, "B", 1)]


def test_types():
    assert first("---\na: 1\n---\n\n---\ntype: [exercise, hard]\n---\n\n# A\n").types == ["exercise", "hard"]


def test_a_missing_header():
    assert seen("# A\n").missing == ["header"]


def test_missing_header_keys():
    assert seen("---\nauthor: x\n---\n\n# A\n").missing == ["title", "docid"]


def test_what_a_run_would_make_is_missing():
    assert first(ONE).missing == ["questions", "summary"]
    assert first(f"{HEADER}# A\n\n{PROSE}\n").missing == ["questions"]
    assert first(f"{HEADER}# A\n\nShort.\n").missing == []


def test_what_is_said_of_the_only_subsection_is_not_missing_above_it():
    text = f"{HEADER}# A\n\n## B\n\n{LONG}\n"
    assert [one.missing for one in seen(text).sections] == [[], ["questions", "summary"]]
    frozen = text.replace("## B", "---\nfrozen: true\n---\n## B")
    assert [one.missing for one in seen(frozen).sections] == [["questions", "summary"], []]


def test_after_a_run_nothing_is_missing():
    found = seen(annotate(ONE))
    assert (found.missing, found.sections[0].missing, found.sections[0].outdated) == ([], [], [])


def test_what_a_run_would_make_again_is_outdated():
    assert first(annotate(ONE).replace("sum of its", "sum of all")).outdated == ["questions", "summary"]


def test_what_a_run_would_remove_is_outdated():
    assert first(annotate(ONE).replace(LONG, "Short.")).outdated == ["questions", "summary"]


def test_corrected_values_are_stale_once_their_text_has_changed():
    once = annotate(ONE)
    corrected = once.replace("~questions:\n  - ", "~questions:\n  - By hand: ").replace("By hand: What", "By hand what")
    assert first(corrected).stale == []
    assert first(corrected.replace("sum of its", "sum of all")).stale == ["questions"]


def test_the_writers_values_are_nothing_to_do():
    found = first(ONE.replace("# A", "---\nquestions: mine\nsummary=:\n---\n\n# A"))
    assert (found.missing, found.outdated, found.stale) == ([], [], [])


@pytest.mark.parametrize("key", ["frozen", "skip"])
def test_closed_sections_miss_nothing(key):
    assert first(ONE.replace("# A", f"---\n{key}: true\n---\n\n# A")).missing == []


def test_only_what_the_options_ask_for_is_missing():
    assert seen(ONE, ScanOpts(questions=False)).sections[0].missing == ["summary"]


def test_the_empty_document():
    assert (seen("").sections, seen("").words) == ([], 0)


@given(markdown())
def test_looking_changes_nothing(text):
    blocks = parse_markdown_text(text)
    overview(CheckedDocument(blocks))
    assert serialize_blocks(blocks) == text


@given(markdown())
def test_what_is_missing_is_what_a_run_asks_for(text):
    with_header = "---\ntitle: T\ndocid: d\n---\n\n" + text
    found = seen(with_header)
    annotator = CountingAnnotator()
    annotate(with_header, annotator)
    wanted = [section.title for section in found.sections if section.missing or section.outdated]
    asked = [asked.titles[-1] for asked in annotator.sections if len(asked.titles) > 1]
    assert set(asked) <= set(wanted) | {"T"}
