"""The overview that `lmm scan` shows."""

from hypothesis import given

from lmm_core.markdown import parse_markdown_text, serialize_blocks
from lmm_core.scan.annotations.overview import overview
from lmm_core.scan.check.document import CheckedDocument
from lmm_core.settings.tables import ScanOpts
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, markdown

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
ONE = f"{HEADER}# A\n\n{LONG}\n"


def seen(text, opts=None):
    return overview(CheckedDocument(parse_markdown_text(text)), (), opts or ScanOpts())


def state(text):
    """Return what is missing, outdated and stale in the first section."""
    first = seen(text).sections[0]
    return first.missing, first.outdated, first.stale


def test_title_docid_words_and_sections():
    found = seen(f"{HEADER}preface words\n\n# A {{#a}}\n\n---\ntype: [exercise, hard]\n---\n\n### B\n\none two three\n")
    assert (found.title, found.docid, found.words) == ("T", "d", 5)
    sections = [(one.line, one.level, one.title, one.words, one.types) for one in found.sections]
    assert sections == [(8, 1, "A", 0, []), (14, 3, "B", 3, ["exercise", "hard"])]


def test_what_a_run_would_write_is_missing():
    assert seen("# A\n").missing == ["header"]
    assert seen("---\nauthor: x\n---\n\n# A\n").missing == ["title", "docid"]
    assert state(f"{HEADER}# A\n\n{PROSE}\n") == (["questions"], [], [])
    assert seen(ONE, ScanOpts(questions=False)).sections[0].missing == ["summary"]


def test_what_is_said_of_the_only_subsection_is_not_missing_above_it():
    text = f"{HEADER}# A\n\n## B\n\n{LONG}\n"
    assert [one.missing for one in seen(text).sections] == [[], ["questions", "summary"]]
    frozen = text.replace("## B", "---\nfrozen: true\n---\n## B")
    assert [one.missing for one in seen(frozen).sections] == [["questions", "summary"], []]


def test_what_a_run_would_write_again_or_remove_is_outdated():
    once = annotate(ONE)
    assert state(once) == ([], [], [])
    assert state(once.replace("sum of its", "sum of all")) == ([], ["questions", "summary"], [])
    assert state(once.replace(LONG, "Short.")) == ([], ["questions", "summary"], [])


def test_corrected_values_are_stale_once_their_text_has_changed():
    corrected = annotate(ONE).replace("~questions:\n  - What", "~questions:\n  - By hand what")
    assert state(corrected) == ([], [], [])
    assert state(corrected.replace("sum of its", "sum of all"))[2] == ["questions"]


@given(markdown())
def test_what_is_missing_is_what_a_run_asks_for(text):
    with_header = HEADER + text
    blocks = parse_markdown_text(with_header)
    found = overview(CheckedDocument(blocks), (), ScanOpts())
    assert serialize_blocks(blocks) == with_header, "an overview changes nothing"
    annotator = CountingAnnotator()
    annotate(with_header, annotator)
    wanted = {section.title for section in found.sections if section.missing or section.outdated}
    assert {asked.titles[-1] for asked in annotator.sections if len(asked.titles) > 1} <= wanted | {"T"}
