"""The RAG pass: questions and summaries, and who may change them."""

import re
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given

from lmm_core.errors import ConfigError
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
from lmm_core.markdown.metadata.ownership import digest
from lmm_core.markdown.tree import TextNode
from lmm_core.models.annotators.annotator import Annotation
from lmm_core.scan import ScanOpts, scan_rag
from lmm_core.scan.annotations.removal import Removal
from lmm_core.scan.system_keys import State, key_state, nearest_spellings
from lmm_core.settings.project import Project, for_document
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


def stale(logger):
    return [report.message for report in logger.reports if "corrected by hand" in report.message]


def words(count):
    return " ".join(["word"] * (count - 1) + ["end."])


# What is asked and written


def test_each_section_gets_questions_and_a_summary():
    made = annotate(TWO)
    assert keys(made, "A") == keys(made, "B") == ["~questions", "~summary"]


def test_the_document_gets_a_summary_and_no_questions():
    assert keys(annotate(f"{TWO}\n# C\n\n{LONG}\n"), "T") == ["title", "docid", "~summary", "~~annotator"]


DIV = f"::: challenge\n\n## Try it\n\n{LONG}\n\n::: solution\n\nIt is 4.\n\n:::\n:::\n"


@pytest.mark.parametrize("text", [DIV, f"{PROSE}\n\n{DIV}\nMore.\n", DIV.replace("\n", "\r\n")])
def test_a_div_that_begins_with_a_heading_gets_questions_and_so_does_a_document_without_sections(text):
    annotator = CountingAnnotator()
    made = annotate(HEADER + text, annotator)
    asked = {section.titles: section.text for section in annotator.sections}
    assert [*asked] == [("T", "Try it"), ("T",)]
    assert asked["T", "Try it"].replace("\r", "") == f"{LONG}\n\n::: solution\n\nIt is 4.\n\n:::"
    div = next(node for node in traverse(blocks_to_tree(parse_markdown_text(made))) if node.content.startswith(":::"))
    assert [*div.properties] == ["~questions", "~~hash"]
    assert keys(made, "T") == ["title", "docid", "~questions", "~summary", "~~annotator"]
    assert annotate(made) == made
    assert (
        serialize_blocks(Removal(corrected=False, logger=ListLogger()).apply(parse_markdown_text(made)))
        == HEADER + text
    )


@pytest.mark.parametrize(
    "div",
    [
        DIV.replace("challenge", "panel-tabset"),
        DIV.replace("## Try it", "Try it"),
        f"{DIV}Behind it.\n",
        f"---\nfrozen: true\n---\n\n{DIV}",
        f"::: rag-only\n\n## Try it\n\n{LONG}\n\n:::\n",
    ],
)
def test_other_divs_get_none(div):
    annotator = CountingAnnotator()
    annotate(f"{HEADER}# A\n\n{LONG}\n\n{div}", annotator)
    assert [section.titles for section in annotator.sections] == [("T", "A")]


def test_the_annotators_name_is_said():
    assert section(annotate(ONE), "T").properties["~~annotator"] == "test/counting"


def test_children_are_asked_before_parents():
    annotator = CountingAnnotator()
    annotate(f"{TWO}\n# C\n\nShort.\n", annotator)
    assert [asked.titles for asked in annotator.sections] == [("T", "A", "B"), ("T", "A"), ("T",)]


def test_a_section_shows_its_text_and_the_summaries_below():
    annotator = CountingAnnotator()
    made = annotate(TWO, annotator)
    shown = annotator.sections[1]
    assert shown.text == LONG
    assert shown.summaries == (section(made, "B").get("summary"),)


ONLY = f"{HEADER}# A\n\n## B\n\n### C\n\n{LONG}\n\n# D\n\n{PROSE} {LONG}\n"


def test_a_section_that_is_one_subsection_costs_no_request_of_its_own():
    """What is to be said of it is said of the subsection, also to what stands above."""
    annotator = CountingAnnotator()
    made = annotate(ONLY, annotator)
    asked = [one.titles[-1] for one in annotator.sections]
    assert sorted(asked) == ["C", "D", "T"] and asked[-1] == "T"
    assert [keys(made, title) for title in "AB"] == [[], []]
    assert annotator.sections[-1].summaries == tuple(section(made, title).get("summary") for title in "CD")
    assert annotate(made, annotator) == made and annotator.calls == 3
    changed = annotate(made.replace(LONG, f"{LONG} And more.", 1), annotator)
    assert [one.titles[-1] for one in annotator.sections[3:]] == ["C", "T"]
    longer = annotate(changed.replace("## B", f"{PROSE} {LONG}\n\n## B"), annotator)
    assert [one.titles[-1] for one in annotator.sections[5:]] == ["A", "T"]
    shorter = annotate(longer.replace(f"{PROSE} {LONG}\n\n## B", "## B"), annotator)
    assert "~summary" not in section(shorter, "A").properties


def test_a_subsection_without_summary_is_shown_as_text():
    annotator = CountingAnnotator()
    annotate(f"{HEADER}# A\n\n{LONG}\n\n## B\n\nShort.\n", annotator)
    assert annotator.sections[0].text == f"{LONG}\n\nShort."


def test_the_language_is_the_headers():
    annotator = CountingAnnotator()
    annotate(ONE.replace("docid: d", "docid: d\nlang: de"), annotator)
    assert {asked.language for asked in annotator.sections} == {"de"}


def test_metadata_is_not_shown():
    annotator = CountingAnnotator()
    item = "- item\n\n  ::: lmm\n  ```yaml\n  secret: y\n  ```\n  :::\n"
    annotate(f"{HEADER}# A\n\n---\nsecret: x\n---\n\n{LONG}\n\n{item}", annotator)
    assert not any("secret" in asked.text for asked in annotator.sections)


def test_rag_only_material_is_in_no_summary():
    annotator = CountingAnnotator()
    text = f"{ONE}\n::: exercise\nsecret {PROSE}\n:::\n\n---\ntype: topic\n---\n\nsecret {PROSE}\n\n"
    annotate(text + f"---\ntype: exercise\n---\n\n## Solve\n\nsecret {LONG}\n", annotator)
    assert [asked.titles for asked in annotator.sections if "secret" in asked.text] == [("T", "A", "Solve")]
    assert not any("Solve" in summary for asked in annotator.sections for summary in asked.summaries)


def test_titles_follow_the_headings():
    opts = ScanOpts(titles=True, questions=False, summaries=False)
    changed = annotate(TWO, opts=opts).replace("# A\n", "# C\n", 1)
    assert section(annotate(changed, opts=opts), "B").get("titles") == "T - C - B"


@pytest.mark.parametrize(
    ("opts", "written"),
    [
        (ScanOpts(questions=False), ["~summary"]),
        (ScanOpts(summaries=False), ["~questions"]),
        (ScanOpts(questions=False, summaries=False), []),
    ],
)
def test_only_what_the_options_ask_for(opts, written):
    assert keys(annotate(ONE, opts=opts), "A") == written


@pytest.mark.parametrize(
    ("count", "written"),
    [(14, []), (15, ["~questions"]), (50, ["~questions", "~summary"])],
)
def test_thresholds_are_15_and_50_words(count, written):
    assert keys(annotate(f"{HEADER}# A\n\n{words(count)}\n"), "A") == written


def test_thresholds_count_the_subsections_too():
    made = annotate(f"{HEADER}# A\n\n{words(10)}\n\n## B\n\n{words(10)}\n")
    assert keys(made, "A") == ["~questions"]
    assert keys(made, "B") == []


def test_thresholds_do_not_count_rag_only_material():
    assert keys(annotate(f"{HEADER}# A\n\n{words(10)}\n\n::: exercise\n{words(60)}\n:::\n"), "A") == []


# Whose a key is


@pytest.mark.parametrize("key", ["questions", "questions="])
def test_what_the_writer_wrote_is_kept(key):
    made = annotate(f"{HEADER}---\n{key}: mine\n---\n\n# A\n\n{LONG}\n")
    assert keys(made, "A") == [key, "~summary"]
    assert section(made, "A").properties[key] == "mine"


def test_an_empty_key_means_none_wanted():
    annotator = CountingAnnotator()
    made = annotate(f"{HEADER}---\nquestions=:\nsummary=:\n---\n\n# A\n\n{words(20)}\n", annotator)
    assert keys(made, "A") == ["questions=", "summary="]
    assert annotator.calls == 0


def test_the_writers_summary_is_shown_above():
    annotator = CountingAnnotator()
    annotate(TWO.replace("## B", "---\nsummary: Mine.\n---\n\n## B"), annotator)
    assert annotator.sections[1].summaries == ("Mine.",)


def test_a_changed_text_is_annotated_again():
    once = annotate(ONE)
    again = annotate(once.replace("sum of its values", "sum of all values"))
    assert section(again, "A").get("summary") != section(once, "A").get("summary")


def test_a_change_goes_up_to_the_document_and_not_sideways():
    text = f"{TWO}\n# C\n\n{LONG}\n"
    changed = annotate(text).replace(f"{PROSE} {LONG}", f"new {PROSE} {LONG}")
    annotator = CountingAnnotator()
    annotate(changed, annotator)
    assert [asked.titles[-1] for asked in annotator.sections] == ["B", "A", "T"]


def corrected(text):
    """Return the text after the writer has corrected the summary of A."""
    return text.replace(f"~summary: {section(text, 'A').get('summary')}\n", "~summary: By hand.\n")


def test_a_corrected_value_is_kept_while_its_text_stays():
    logger = ListLogger()
    made = annotate(corrected(annotate(ONE)), logger=logger)
    assert section(made, "A").get("summary") == "By hand."
    assert stale(logger) == []


def test_a_corrected_value_is_kept_and_listed_when_its_text_changes():
    logger = ListLogger()
    made = annotate(corrected(annotate(ONE)).replace("sum of its", "sum of all"), logger=logger)
    assert section(made, "A").get("summary") == "By hand."
    assert stale(logger) == [
        "~summary was corrected by hand and its text has changed since: see whether it still fits; "
        "what you delete is written again"
    ]


def test_corrected_values_are_listed_once_for_all():
    logger = ListLogger()
    text = corrected(annotate(ONE)).replace("- What of A", "- What else of A")
    text = text.replace("sum of its", "sum of all")
    annotate(text, logger=logger)
    line = text[: text.index("# A\n")].count("\n") + 1
    assert stale(logger) == [
        "2 annotations were corrected by hand and their texts have changed since: see whether they still fit; "
        f"what you delete is written again (~questions at line {line}, ~summary at line {line})"
    ]


def test_a_value_whose_origin_is_unknown_is_kept():
    text = f"{HEADER}---\n~summary: From somewhere.\n---\n\n# A\n\n{LONG}\n"
    assert section(annotate(text), "A").get("summary") == "From somewhere."


def test_a_deleted_value_is_made_again():
    once = annotate(ONE)
    deleted = "\n".join(line for line in once.split("\n") if not line.startswith("~summary"))
    assert annotate(deleted) == once


def test_deleting_the_hashes_does_not_lose_values():
    once = annotate(ONE)
    bare = "\n".join(line for line in once.split("\n") if not line.startswith("~~hash"))
    assert section(annotate(bare), "A").get("summary") == section(once, "A").get("summary")


def test_a_section_that_shrank_loses_what_the_system_wrote():
    shrunk = annotate(annotate(ONE).replace(LONG, "Short."))
    assert keys(shrunk, "A") == []
    assert shrunk.endswith("\n---\n\n# A\n\nShort.\n")


def test_a_section_that_shrank_keeps_what_was_corrected():
    assert section(annotate(corrected(annotate(ONE)).replace(LONG, "Short.")), "A").get("summary") == "By hand."


def test_a_section_that_shrank_keeps_the_writers_other_keys():
    text = ONE.replace("# A", "---\nlevel: 1 # easy\n---\n\n# A")
    shrunk = annotate(annotate(text).replace(LONG, "Short."))
    assert shrunk.endswith("\n---\nlevel: 1 # easy\n---\n\n# A\n\nShort.\n")


# Frozen and skipped


@pytest.mark.parametrize("key", ["frozen", "skip"])
def test_a_closed_part_and_all_under_it_is_left(key):
    annotator = CountingAnnotator()
    made = annotate(f"{HEADER}---\n{key}: true\n---\n\n# A\n\n{LONG}\n\n## B\n\n{LONG}\n", annotator)
    assert keys(made, "A") == [key]
    assert keys(made, "B") == []
    assert [asked.titles for asked in annotator.sections] == [("T",)][: annotator.calls]


@pytest.mark.parametrize("key", ["frozen", "skip"])
def test_the_nearest_value_opens_a_part_again(key):
    text = f"{HEADER}---\n{key}: true\n---\n\n# A\n\n{LONG}\n\n---\n{key}: false\n---\n\n## B\n\n{LONG}\n"
    assert keys(annotate(text), "B") == [key, "~questions", "~summary"]


@pytest.mark.parametrize("key", ["frozen", "skip"])
def test_a_closed_document_is_left(key):
    text = ONE.replace("docid: d", f"docid: d\n{key}: true")
    annotator = CountingAnnotator()
    assert annotate(text, annotator) == text
    assert annotator.calls == 0


def test_a_frozen_part_keeps_its_values_when_its_text_changes():
    frozen = annotate(ONE).replace("~questions", "frozen: true\n~questions").replace("sum of its", "sum of all")
    assert section(annotate(frozen), "A").properties == section(frozen, "A").properties


def test_a_frozen_part_is_still_shown_above():
    annotator = CountingAnnotator()
    annotate(TWO.replace("## B", "---\nfrozen: true\nsummary: Mine.\n---\n\n## B"), annotator)
    assert annotator.sections[0].summaries == ("Mine.",)


def test_a_skipped_part_is_not_shown_above():
    annotator = CountingAnnotator()
    skipped = "---\nskip: true\n---\n\n"
    annotate(f"{ONE}\n{skipped}## B\n\nsecret {LONG}\n\n# C\n\n{skipped}secret\n", annotator)
    assert not any("secret" in asked.text + " ".join(asked.summaries) for asked in annotator.sections)


def test_only_true_closes():
    assert "~summary" in keys(annotate(f"{HEADER}---\nskip: x\n---\n\n# A\n\n{LONG}\n"), "A")


# Again: nothing to do


@pytest.mark.parametrize("spelling", ["div", "native", "comment"])
@pytest.mark.parametrize("text", [ONE, TWO, f"# A\n\n{LONG}\n", f"{LONG}\n", f"\ufeff# A\r\n\r\n{LONG}\r\n"])
def test_a_second_run_changes_nothing_and_asks_nothing(text, spelling):
    once = annotate(text, spelling=spelling)
    annotator = CountingAnnotator()
    assert annotate(once, annotator, spelling=spelling) == once
    assert annotator.calls == 0


def test_hashes_as_documents_carry_them_are_still_fresh():
    once = annotate(ONE)
    short = re.search(r"~~hash: \{text: (\w+), questions: (\w+), summary: (\w+)\}", once)
    old = once.replace(short[0], "~~hash: {{questions: [{0}, {1}], summary: [{0}, {2}]}}".format(*short.groups()))
    annotator = CountingAnnotator()
    assert annotate(old, annotator) == old
    assert annotator.calls == 0


@pytest.mark.parametrize("dashes", ["--", "-->", "--!>", "--->", "a ---- b", "\\\\--", "- --"])
def test_what_a_comment_must_not_hold_is_escaped(dashes):
    class Dashing(CountingAnnotator):
        async def annotate(self, section, wanted, instead=""):
            self.sections.append(section)
            return Annotation([f"What of {dashes}?"], f"It is {dashes} of it.\nAnd more.")

    text = f"---\ntitle: T\n---\n\n<!-- lmm\n# mine\nskip: false\n-->\n# A\n\n{LONG}\n"
    once = annotate(text, Dashing(), spelling="comment")
    block = parse_markdown_text(once)[1]
    assert "--" not in block.body
    assert (block.spelling, block.content["~questions"]) == ("comment", [f"What of {dashes}?"])
    assert dashes in block.content["~summary"]
    assert block.body.startswith("# mine\nskip: false\n")
    assert annotate(once, Dashing(), spelling="comment") == once


def test_the_header_says_how_new_blocks_are_spelled():
    header = {"lmm": {"spelling": "comment"}}
    assert for_document(Project(Path()), header).spelling == "comment"
    with pytest.raises(ConfigError, match=r"lmm.spelling.*should be div, native or comment, not 'xml'"):
        for_document(Project(Path()), {"lmm-spelling": "xml"})


@given(markdown())
def test_a_second_run_never_changes_nor_asks(text):
    for spelling in ("div", "native", "comment"):
        logger, annotator = ListLogger(), CountingAnnotator()
        once = annotate(text, opts=ScanOpts(titles=True), spelling=spelling, logger=logger)
        again = annotate(once, annotator, ScanOpts(titles=True), spelling)
        if not logger.count("error"):
            assert (again, annotator.calls) == (once, 0)


@pytest.mark.parametrize("text", [f"% Title\n\n{LONG}\n", f"---\na: [\n---\n\n{LONG}\n"])
def test_a_document_without_header_asks_nothing_that_it_cannot_write(text):
    annotator = CountingAnnotator()
    assert annotate(text, annotator) == text
    assert annotator.calls == 0


@pytest.mark.parametrize("annotator", [CountingAnnotator(summary=False), CountingAnnotator(questions=False)])
def test_an_annotator_with_nothing_to_say_is_not_asked_again(annotator):
    once = annotate(ONE, annotator)
    calls = annotator.calls
    assert annotate(once, annotator) == once
    assert annotator.calls == calls


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(". ", ".\n"),
        lambda text: text.replace(" ", "   "),
        lambda text: text.replace(LONG, f"   {LONG}  "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("# A\n\n", "# A\n\n\n\n"),
        lambda text: text.replace("# A", "# A {#sec-a}"),
    ],
)
def test_wrapping_again_is_no_change(change):
    head, _, body = annotate(ONE).rpartition("# A")
    annotator = CountingAnnotator()
    annotate(head + change("# A" + body), annotator)
    assert annotator.calls == 0


CODE = f"{HEADER}# A\n\n{LONG}\n\n```\na  b\n\nc\n```\n\n    d  e\n\n    f\n\nend\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a  b", "a b"),
        ("a  b", "  a  b"),
        ("b\n\nc", "b\n\n\nc"),
        ("d  e", "d e"),
        ("    f", "      f"),
        ("e\n\n    f", "e\n\n\n    f"),
    ],
)
def test_code_is_exact(before, after):
    once = annotate(CODE)
    annotator = CountingAnnotator()
    annotate(once.replace(before, after), annotator)
    assert annotator.calls > 0


# The text is the writer's


def has_no_metadata(text):
    return not any(isinstance(block, MetadataBlock | ErrorBlock) for block in parse_markdown_text(text))


@given(markdown())
def test_text_outside_metadata_stays(text):
    made = annotate(text)
    assert squeezed(outside_metadata(made)) == squeezed(outside_metadata(text))


@given(markdown().filter(has_no_metadata))
def test_text_without_metadata_gets_blank_lines_around_new_blocks_at_most(text):
    for spelling in ("div", "native", "comment"):
        made = iter(outside_metadata(annotate(text, spelling=spelling)).split("\n"))
        lines = outside_metadata(text).split("\n")
        for line in lines:
            between = list(takewhile(lambda other, line=line: other != line, made))
            assert not "".join(between).strip("\r")
        assert not "".join(made).strip("\r")


def test_the_writers_keys_stay_byte_for_byte():
    block = "---\nlevel:  1.10 # easy\n\ntags: [a,   'b']\n---\n"
    made = annotate(ONE.replace("# A", block + "\n# A"))
    assert "---\nlevel:  1.10 # easy\n\ntags: [a,   'b']\n~questions:\n" in made


class Hostile(CountingAnnotator):
    """An annotator whose replies look like the document's structure."""

    name = "test/hostile"

    def __init__(self, reply):
        super().__init__()
        self.reply = reply

    async def annotate(self, section, wanted, instead=""):
        return Annotation([self.reply], self.reply)


@pytest.mark.parametrize("spelling", ["div", "native", "comment"])
@pytest.mark.parametrize(
    "reply",
    ["---\n# h\n---", "```\n:::\n\n# h", "a\n...\nb", "- a\n- b", "a: b", "x\r\ny", "\x85", "\u2028# h", "nul\0", "`" * 40, "<!--"],
)  # fmt: skip
def test_no_reply_changes_the_structure(reply, spelling):
    logger = ListLogger()
    made = annotate(TWO, Hostile(reply), spelling=spelling, logger=logger)
    assert [type(block).__name__ for block in parse_markdown_text(made) if not isinstance(block, MetadataBlock)] == [
        "HeadingBlock", "TextBlock", "HeadingBlock", "TextBlock",
    ]  # fmt: skip
    assert logger.reports == []
    assert section(made, "B").get("questions") == [reply]
    assert section(made, "B").get("summary") == reply


def test_a_new_block_is_spelled_as_the_nearest():
    text = f"{ONE}\n---\na: 1\n---\n\n# B\n\n{LONG}\n\n# C\n\n{LONG}\n"
    assert ":::" not in annotate(text)
    assert "\n---\n~questions" in annotate(text)


def test_a_document_without_blocks_gets_the_spelling_asked_for():
    assert "::: {.lmm .content-hidden}" in annotate(ONE, spelling="div")
    assert ":::" not in annotate(ONE, spelling="native")


def test_the_nearest_of_two_blocks_is_written():
    made = annotate(ONE.replace("# A", "---\nfar: 1\n---\n\n---\nnear: 1\n---\n\n# A"))
    assert "---\nfar: 1\n---\n\n---\nnear: 1\n~questions:" in made


def test_a_broken_block_does_not_stop_the_rest():
    text = f"{ONE}\n---\na: [\n---\n\n# B\n\n{LONG}\n"
    made = annotate(text)
    assert "---\na: [\n---\n" in made
    assert keys(made, "B") == ["~questions", "~summary"]


def test_the_empty_document():
    assert scan_rag([], annotator=CountingAnnotator()) == []


# Documents annotated by LM markdown

BY_LM_MARKDOWN = (
    f"{HEADER}---\ntitles: T - A\nquestions: theirs\nsummary: Theirs.\n~txthash: theirs\n---\n\n# A\n\n{LONG}\n"
)


def test_annotations_of_lm_markdown_are_not_overwritten():
    made = annotate(BY_LM_MARKDOWN)
    assert "---\ntitles: T - A\nquestions: theirs\nsummary: Theirs.\n~txthash: theirs\n---\n" in made
    assert keys(made, "A") == ["titles", "questions", "summary", "~txthash"]


@pytest.mark.parametrize(
    ("properties", "state"),
    [
        ({}, State.MISSING),
        ({"~~hash": {"summary": ["now", digest(None)]}}, State.CURRENT),
        ({"~~hash": {"summary": ["then", digest(None)]}}, State.MISSING),
        ({"summary": "x"}, State.WRITERS),
        ({"summary=": "", "~summary": "x"}, State.WRITERS),
        ({"~summary": "x"}, State.CORRECTED),
        ({"~summary": "x", "~~hash": {"summary": ["now", digest("x"), "more"]}}, State.CORRECTED),
        ({"~summary": "x", "~~hash": {"summary": ["now", digest("x")]}}, State.CURRENT),
        ({"~summary": "x", "~~hash": {"summary": ["then", digest("x")]}}, State.OUTDATED),
        ({"~summary": "y", "~~hash": {"summary": ["now", digest("x")]}}, State.CORRECTED),
        ({"~summary": "y", "~~hash": {"summary": ["then", digest("x")]}}, State.STALE),
    ],
)
def test_the_state_of_a_key(properties, state):
    assert key_state(properties, "summary", "now") is state


@pytest.mark.parametrize(
    ("block", "spelling"),
    [
        ("---\na: [\n---\n", "native"),
        ("::: lmm\n``` yaml\na: [\n```\n:::\n", "div"),
        ("<!-- lmm\na: [\n-->\n", "comment"),
    ],
)
@pytest.mark.parametrize("default", ["native", "div", "comment"])
def test_a_block_that_cannot_be_read_says_how_blocks_are_spelled(block, spelling, default):
    tree = blocks_to_tree(parse_markdown_text(f"# A\n\n{block}\nText.\n"))
    assert set(nearest_spellings(list(traverse(tree)), default)) == {spelling}


def test_the_spelling_of_the_nearest_block():
    native, div = "---\na: 1\n---\n\n", "::: lmm\n``` yaml\na: 1\n```\n:::\n\n"
    text = f"{div}One.\n\nTwo.\n\nThree.\n\n{native}Four.\n\nFive.\n\nSix.\n\n{div}Seven.\n"
    nodes = [
        node
        for node in traverse(blocks_to_tree(parse_markdown_text(f"Start.\n\n{text}")))
        if isinstance(node, TextNode)
    ]
    found = nearest_spellings(nodes, "native")
    assert found == ["div", "div", "div", "native", "native", "native", "div", "div"]


def test_a_document_whose_header_is_a_list_is_left_as_it_is():
    text = "---\n- title: T\n- author: A\n---\n\n# A\n\nText.\n"
    assert annotate(text, opts=ScanOpts(titles=True)) == text
