"""The RAG pass: questions and summaries, and who may change them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.logging import ListLogger
from lmm_core.markdown import (
    ErrorBlock,
    HeadingNode,
    MetadataBlock,
    blocks_to_tree,
    parse_markdown_text,
    serialize_blocks,
    traverse,
)
from lmm_core.models.annotators.extractive import ExtractiveAnnotator
from lmm_core.scan.rag import scan_rag
from lmm_core.settings.tables import ScanOpts
from tests.strategies import LONG, PROSE, CountingAnnotator, annotate, markdown, outside_metadata, squeezed

HEADER = "---\ntitle: T\ndocid: d\n---\n\n"
ONE = f"{HEADER}# A\n\n{LONG}\n"
TWO = f"{HEADER}# A\n\n{LONG}\n\n## B\n\n{PROSE} {LONG}\n"


def section(text, title):
    """Return the node of a section."""
    nodes = traverse(blocks_to_tree(parse_markdown_text(text)))
    return next(node for node in nodes if isinstance(node, HeadingNode) and node.title == title)


def keys(text, title):
    return [key for key in section(text, title).properties if key != "~~hash"]


def asked(text, **options):
    """Return the sections that an annotator is asked about."""
    annotator = CountingAnnotator()
    annotate(text, annotator, **options)
    return annotator.sections


def last_titles(sections):
    return [asked_section.titles[-1] for asked_section in sections]


def words(count):
    return " ".join(["word"] * (count - 1) + ["end."])


# What is asked and written


def test_each_section_gets_questions_and_a_summary_and_the_document_a_summary():
    made = annotate(f"{TWO}\n# C\n\n{LONG}\n")
    assert keys(made, "A") == keys(made, "B") == ["~questions", "~summary"]
    assert keys(made, "T") == ["title", "docid", "~summary", "~~annotator"]
    assert section(made, "T").properties["~~annotator"] == "test/counting"


DIV = f"::: challenge\n\n## Try it\n\n{LONG}\n\n::: solution\n\nIt is 4.\n\n:::\n:::\n"


@pytest.mark.parametrize("text", [f"{PROSE}\n\n{DIV}\nMore.\n", DIV.replace("\n", "\r\n")])
def test_a_div_that_begins_with_a_heading_gets_questions_and_so_does_a_document_without_sections(text):
    annotator = CountingAnnotator()
    made = annotate(HEADER + text, annotator)
    texts = {asked_section.titles: asked_section.text for asked_section in annotator.sections}
    assert [*texts] == [("T", "Try it"), ("T",)]
    assert texts["T", "Try it"].replace("\r", "") == f"{LONG}\n\n::: solution\n\nIt is 4.\n\n:::"
    div = next(node for node in traverse(blocks_to_tree(parse_markdown_text(made))) if node.content.startswith(":::"))
    assert [*div.properties] == ["~questions", "~~hash"]
    assert keys(made, "T") == ["title", "docid", "~questions", "~summary", "~~annotator"]
    assert annotate(made) == made


@pytest.mark.parametrize(
    "div",
    [
        DIV.replace("challenge", "panel-tabset"),
        f"---\nfrozen: true\n---\n\n{DIV}",
        f"::: rag-only\n\n## Try it\n\n{LONG}\n\n:::\n",
    ],
)
def test_other_divs_get_none(div):
    assert last_titles(asked(f"{HEADER}# A\n\n{LONG}\n\n{div}")) == ["A"]


def test_subsections_are_asked_first_and_their_summaries_are_shown_above():
    annotator = CountingAnnotator()
    made = annotate(f"{TWO}\n# C\n\nShort.\n", annotator)
    assert [asked_section.titles for asked_section in annotator.sections] == [("T", "A", "B"), ("T", "A"), ("T",)]
    assert annotator.sections[1].text == LONG
    assert annotator.sections[1].summaries == (section(made, "B").get("summary"),)


def test_a_section_that_is_one_subsection_costs_no_request_of_its_own():
    annotator = CountingAnnotator()
    made = annotate(f"{HEADER}# A\n\n## B\n\n### C\n\n{LONG}\n\n# D\n\n{PROSE} {LONG}\n", annotator)
    assert sorted(last_titles(annotator.sections)) == ["C", "D", "T"]
    assert [keys(made, title) for title in "AB"] == [[], []]
    assert annotator.sections[-1].summaries == tuple(section(made, title).get("summary") for title in "CD")
    longer = annotate(made.replace("## B", f"{PROSE} {LONG}\n\n## B"))
    assert keys(longer, "A") == ["~questions", "~summary"]
    assert keys(annotate(longer.replace(f"{PROSE} {LONG}\n\n## B", "## B")), "A") == []


def test_metadata_and_rag_only_material_are_in_no_summary():
    item = "- item\n\n  ::: lmm\n  ```yaml\n  key: secret\n  ```\n  :::\n"
    text = f"{HEADER}---\nkey: secret\n---\n\n# A\n\n{LONG}\n\n{item}\n::: exercise\nsecret {PROSE}\n:::\n\n"
    text += f"---\ntype: topic\n---\n\nsecret {PROSE}\n\n---\ntype: exercise\n---\n\n## Solve\n\nsecret {LONG}\n"
    sections = asked(text)
    assert [shown.titles for shown in sections if "secret" in shown.text] == [("T", "A", "Solve")]
    assert not any("Solve" in summary for shown in sections for summary in shown.summaries)


def test_only_what_the_options_ask_for():
    assert keys(annotate(ONE, opts=ScanOpts(questions=False)), "A") == ["~summary"]
    assert keys(annotate(ONE, opts=ScanOpts(summaries=False)), "A") == ["~questions"]


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (words(15), ["~questions"]),
        (f"{words(10)}\n\n## B\n\n{words(10)}", ["~questions"]),
        (f"{words(10)}\n\n::: exercise\n{words(60)}\n:::", []),
    ],
    ids=["15", "subsections count", "RAG-only material does not"],
)
def test_thresholds_are_15_and_50_words(body, written):
    assert keys(annotate(f"{HEADER}# A\n\n{body}\n"), "A") == written


# Whose a key is


def test_what_the_writer_wrote_is_kept_and_an_empty_key_means_none_wanted():
    text = f"{HEADER}---\nquestions: mine\nsummary=:\n---\n\n# A\n\n{words(20)}\n"
    assert keys(annotate(text), "A") == ["questions", "summary="]
    assert asked(text) == []


def test_the_writers_summary_is_shown_above():
    text = TWO.replace("## B", "---\nfrozen: true\nsummary: Mine.\n---\n\n## B")
    above = next(shown for shown in asked(text) if shown.titles[-1] == "A")
    assert above.summaries == ("Mine.",)


def test_a_change_goes_up_to_the_document_and_not_sideways():
    once = annotate(f"{TWO}\n# C\n\n{LONG}\n")
    changed = once.replace(f"{PROSE} {LONG}", f"new {PROSE} {LONG}")
    assert last_titles(asked(changed)) == ["B", "A", "T"]
    assert section(annotate(changed), "B").get("summary") != section(once, "B").get("summary")


CORRECTED = annotate(ONE).replace(f"~summary: {section(annotate(ONE), 'A').get('summary')}\n", "~summary: By hand.\n")


@pytest.mark.parametrize(("after", "reported"), [("sum of its", []), ("sum of all", ["~summary was corrected"])])
def test_a_corrected_value_is_kept_and_listed_once_its_text_changes(after, reported):
    logger = ListLogger()
    made = annotate(CORRECTED.replace("sum of its", after), logger=logger)
    assert section(made, "A").get("summary") == "By hand."
    assert [report.message[:22] for report in logger.reports if "by hand" in report.message] == reported


def without_lines(text, key):
    return "\n".join(line for line in text.split("\n") if not line.startswith(key))


def test_a_deleted_value_is_made_again_and_deleted_hashes_lose_no_value():
    once = annotate(ONE)
    assert annotate(without_lines(once, "~summary")) == once
    bare = annotate(without_lines(once, "~~hash"))
    assert section(bare, "A").get("summary") == section(once, "A").get("summary")


def test_a_section_that_shrank_loses_what_the_system_wrote():
    text = ONE.replace("# A", "---\nlevel: 1 # easy\n---\n\n# A")
    assert annotate(annotate(ONE).replace(LONG, "Short.")).endswith("\n---\n\n# A\n\nShort.\n")
    shrunk = annotate(annotate(text).replace(LONG, "Short."))
    assert shrunk.endswith("\n---\nlevel: 1 # easy\n---\n\n# A\n\nShort.\n")
    assert section(annotate(CORRECTED.replace(LONG, "Short.")), "A").get("summary") == "By hand."


# Frozen and skipped


@pytest.mark.parametrize("key", ["frozen", "skip"])
def test_a_closed_part_is_left_until_the_nearest_value_opens_it_again(key):
    text = f"{HEADER}---\n{key}: true\n---\n\n# A\n\n{LONG}\n\n## B\n\n{LONG}\n\n---\n{key}: false\n---\n\n## C\n\n{LONG}\n"
    made = annotate(text)
    assert [keys(made, title) for title in "ABC"] == [[key], [], [key, "~questions", "~summary"]]


def test_a_frozen_part_keeps_its_values_when_its_text_changes():
    frozen = annotate(ONE).replace("~questions", "frozen: true\n~questions").replace("sum of its", "sum of all")
    assert section(annotate(frozen), "A").properties == section(frozen, "A").properties


def test_a_skipped_part_is_not_shown_above():
    skipped = "---\nskip: true\n---\n\n"
    sections = asked(f"{ONE}\n{skipped}## B\n\nsecret {LONG}\n\n# C\n\n{skipped}secret\n")
    assert not any("secret" in shown.text + " ".join(shown.summaries) for shown in sections)


# Any document

SPELLINGS = st.sampled_from(["div", "native", "comment"])


@given(markdown(), SPELLINGS)
def test_a_second_run_never_changes_nor_asks(text, spelling):
    logger, annotator = ListLogger(), CountingAnnotator()
    once = annotate(text, opts=ScanOpts(titles=True), spelling=spelling, logger=logger)
    again = annotate(once, annotator, ScanOpts(titles=True), spelling)
    if not logger.count("error"):
        assert (again, annotator.calls) == (once, 0)


@given(markdown(), SPELLINGS)
def test_the_text_stays_but_for_blank_lines_around_new_blocks(text, spelling):
    made = outside_metadata(annotate(text, spelling=spelling))
    assert squeezed(made) == squeezed(outside_metadata(text))
    if not any(isinstance(block, MetadataBlock | ErrorBlock) for block in parse_markdown_text(text)):
        lines = iter(made.split("\n"))
        assert all(line in lines for line in outside_metadata(text).split("\n")), "each line follows the one before"


# Again: nothing to do


def test_hashes_as_documents_carry_them_are_still_fresh():
    once = annotate(ONE)
    short = re.search(r"~~hash: \{text: (\w+), questions: (\w+), summary: (\w+)\}", once)
    old = once.replace(short[0], "~~hash: {{questions: [{0}, {1}], summary: [{0}, {2}]}}".format(*short.groups()))
    assert annotate(old) == old
    assert asked(old) == []


def test_an_annotator_with_nothing_to_say_is_not_asked_again():
    annotator = CountingAnnotator(summary=False)
    once = annotate(ONE, annotator)
    calls = annotator.calls
    assert annotate(once, annotator) == once
    assert annotator.calls == calls


@pytest.mark.parametrize(("before", "after"), [(". ", ".\n"), ("\n", "\r\n"), ("# A", "# A {#sec-a}")])
def test_wrapping_again_is_no_change(before, after):
    head, title, body = annotate(ONE).rpartition("# A")
    assert asked(head + (title + body).replace(before, after)) == []


CODE = f"{HEADER}# A\n\n{LONG}\n\n```\na  b\n\nc\n```\n\n    d  e\n\n    f\n\nend\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [("number. It", "number.\n\nIt"), ("a  b", "a b"), ("b\n\nc", "b\n\n\nc"), ("d  e", "d e")],
)
def test_another_paragraph_is_a_change_and_so_is_every_blank_in_code(before, after):
    assert asked(annotate(CODE).replace(before, after)) != []


# The text is the writer's


BLOCKS = {"native": "---\n{}\n---\n", "div": "::: lmm\n``` yaml\n{}\n```\n:::\n", "comment": "<!-- lmm\n{}\n-->\n"}


@pytest.mark.parametrize("body", ["a: 1", "a: ["])
@pytest.mark.parametrize("spelling", BLOCKS)
def test_a_new_block_is_spelled_as_the_nearest_even_if_that_cannot_be_read(spelling, body):
    other = "native" if spelling == "div" else "div"
    text = f"{HEADER}{BLOCKS[other].format('b: 1')}\nPreface.\n\nMore.\n\n# A\n\nA.\n\n{BLOCKS[spelling].format(body)}\nB.\n"
    made = annotate(f"{text}\n# C\n\n{LONG}\n", spelling=other)
    new = next(block for block in parse_markdown_text(made)[1:] if "~questions" in getattr(block, "content", {}))
    assert new.spelling == spelling
    assert BLOCKS[spelling].format(body) in made


# Without a model: what is not written costs nothing, and what was written can be renewed

SILENT = f"{HEADER}# On\n\nBut nothing here stands by itself. {'It goes on like that. ' * 20}\n"
RESIDUALS = f"{HEADER}# Residuals\n\nA residual is a distance between a point and the line. {LONG}\n"
FOUND = "~questions:\n  - What does “residual” mean?"


def by_stand_in(text, refresh=False):
    made = scan_rag(parse_markdown_text(text), annotator=ExtractiveAnnotator(), refresh=refresh, logger=ListLogger())
    return serialize_blocks(made)


def test_the_stand_in_writes_what_it_finds_and_a_model_is_asked_for_the_rest():
    assert by_stand_in(SILENT) == SILENT
    once = by_stand_in(RESIDUALS)
    assert FOUND in once and once.count("~~annotator: extractive/default") == 1
    assert by_stand_in(once) == once
    both = by_stand_in(f"{RESIDUALS}\n# On\n\n{SILENT.partition('# On')[2]}")
    assert last_titles(asked(both)) == ["Residuals", "On", "T"]


def test_what_a_former_stand_in_wrote_stays_until_a_refresh_and_what_was_corrected_for_good():
    annotator = CountingAnnotator()
    annotator.name = "extractive/default"
    old = annotate(RESIDUALS, annotator)
    assert by_stand_in(old) == old
    assert by_stand_in(old, refresh=True) == by_stand_in(RESIDUALS)
    corrected = by_stand_in(re.sub("~summary: .*", "~summary: By hand.", old), refresh=True)
    assert "~summary: By hand." in corrected and FOUND in corrected
