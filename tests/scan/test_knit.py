"""The knit pass: lecture notes without metadata and without RAG-only material."""

import pytest
from hypothesis import assume, example, given

from lmm_core.indexing.cutting.split import ChunkBlock, scan_split
from lmm_core.logging import ListLogger
from lmm_core.markdown import HeaderBlock, MetadataBlock, parse_markdown_text
from lmm_core.markdown.visibility import KnitRules
from tests.strategies import LONG, annotate, knitted, markdown, squeezed


def warnings(text, rules=None):
    """Return line and message of each warning."""
    logger = ListLogger()
    knitted(text, rules, logger)
    return [(report.line, report.message) for report in logger.reports if report.level == "warning"]


def dangling(text):
    """Return line and label of each reference to a part left out."""
    return [(line, message.split("`")[1]) for line, message in warnings(text) if "reference" in message]


# Metadata


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# A\n\n---\na: 1\n---\n\ntext\n\n::: lmm\n```yaml\nb: 2\n```\n:::\n\n## B\n\nend\n",
            "# A\n\ntext\n\n## B\n\nend\n",
        ),
        ("# A\n---\na: 1\n---\ntext\n", "# A\n\ntext\n"),
        ("---\ntitle: T\n?: Is #3 right: yes or no?\nedit: |\n  a\n  b\nlang: en\n---\n\ntext\n", "---\ntitle: T\nlang: en\n---\n\ntext\n"),
        ("---\ntitle:   T   # mine\n~docid: d\n~~hash: {docid: [a, b]}\n---\n\ntext\n", "---\ntitle:   T   # mine\n---\n\ntext\n"),
        ("---\n~title: T\n~docid: d\n?: what?\n---\n\ntext\n", "text\n"),
        ('---\n{title: T, "~docid": d}\n---\n\ntext\n', '---\n{title: T, "~docid": d}\n---\n\ntext\n'),
        ("::: note\n---\na: 1\n---\n\nStays.\n:::\n", "::: note\nStays.\n:::\n"),
        ("- item\n\n  ::: lmm\n  ```yaml\n  a: 1\n  ```\n  :::\n\n  Stays.\n", "- item\n\n  Stays.\n"),
    ],
)  # fmt: skip
def test_metadata_goes(before, after):
    assert knitted(before) == after


def test_broken_blocks_go_with_an_error():
    block = "::: lmm\n```yaml\na: [\n```\n:::\n\n"
    text = f"# A\n\n{block}text\n\n::: note\n\n{block}text\n:::\n"
    logger = ListLogger()
    assert squeezed(knitted(text, None, logger)) == "# A\ntext\n::: note\ntext\n:::"
    assert [(report.level, report.line) for report in logger.reports] == [("error", 6), ("error", 13)]


def test_native_blocks_that_belong_to_the_document_stay_with_their_keys_alone():
    text = "Text.\n\n---\nreferences:\n- id: a\n---\n"
    assert knitted(text) == text
    assert knitted(text.replace("- id: a\n", "- id: a\nnote: mine\n")) == text


# RAG-only parts (all routes: test_routes.py)


@pytest.mark.parametrize("key", ["type: [a, b]", "type=: topic"])
def test_a_section_goes_with_all_under_it(key):
    text = f"# A\n\nStays.\n\n---\n{key}\n---\n\n## B\n\nGone.\n\n### C\n\nGone.\n\n## D\n\nStays.\n"
    assert knitted(text) == "# A\n\nStays.\n\n## D\n\nStays.\n"


@pytest.mark.parametrize("keys", ["type:", "type: false", "type: a\nknit: true"])
def test_a_section_stays(keys):
    assert "Stays." in knitted(f"# A\n\n---\n{keys}\n---\n\n## B\n\nStays.\n")


def test_types_that_are_kept():
    text = "# A\n\n---\ntype: [exercise, hard]\n---\n\n## B\n\nKept.\n\n"
    text += "::: topic\nGone.\n:::\n\n::: {.rag-only type=definition}\nKept.\n:::\n\n::: {.exercise type=definition}\nKept.\n:::\n"
    made = knitted(text, KnitRules(keep=frozenset({"exercise", "definition"})))
    assert (made.count("Kept."), made.count("Gone.")) == (3, 0)
    assert knitted(text, KnitRules(keep=frozenset({"definition"}))) == "# A\n"


# RAG-only divs


@pytest.mark.parametrize("lead", ["", "\ufeff\n"])
def test_a_rag_only_div_at_the_very_start_goes(lead):
    assert "Gone" not in knitted(f"{lead}::: exercise\nGone.\n:::\n\nStays.\n")


def test_other_divs_stay_as_they_are():
    text = (
        "::: {.callout-note  title='exercise'}\n## T\n\n  x  \n:::\n\n::: exercises\ny\n:::\n\n::: solution\nz\n:::\n"
    )
    assert knitted(text) == text
    assert "z" not in knitted(text, KnitRules(div_types=frozenset({"solution"})))


# What looks like a div and is none


@pytest.mark.parametrize(
    "text",
    [
        "- ::: note\n  x\n\n- more\n\nend\n",
        "# A\n\n::: {.lmm .content-hidden}\n\nend\n",
    ],
)
def test_what_is_not_closed_swallows_nothing(text):
    made = knitted(text)
    assert [word for word in ("more", "end", "x") if (word in text) != (word in made)] == []


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("Before.\n\n::: exercise\nx\n\nx\n\n# x\n\nx\n", "Before.\n"),
        ("- ::: exercise\n  x\n\n- more\n\nend\n", "- \n- more\n\nend\n"),
        ("::: note\nBefore.\n\n> ::: exercise\n> x\n\nend\n:::\n", "::: note\nBefore.\n\nend\n:::\n"),
        ("Before.\n\n<div class=exercise>\nx\n\nx\n", "Before.\n"),
    ],
)
def test_an_exercise_that_is_not_closed_goes_with_the_rest_and_is_an_error(text, stays):
    """Pandoc closes it at the end of its container, which may be the document."""
    logger = ListLogger()
    assert squeezed(knitted(text, None, logger)) == squeezed(stays)
    line = 1 + text[: min(at for word in ("::: ex", "<div") if (at := text.find(word)) >= 0)].count("\n")
    assert [(report.level, report.line) for report in logger.reports if "closed" in report.message] == [("error", line)]


# References


def test_references_to_what_is_left_out_are_warned_of_with_their_line():
    text = "# A\n\nSee @sec-b,\nor [there](#c), or @kept.\n\n---\ntype: topic\n---\n\n# B {#sec-b}\n\n## C\n"
    assert dangling(text) == [(3, "sec-b"), (4, "c")]


def test_figures_have_labels_too():
    assert dangling("See @fig-x.\n\n---\ntype: topic\n---\n\n![a](b.png){.wide #fig-x}\n") == [(1, "fig-x")]


def test_other_references_are_not_warned_of():
    text = "See @knuth, me@sec-b.org.\n\n---\ntype: topic\n---\n\n# B {#sec-b}\n\nInside what goes: @sec-b.\n"
    assert dangling(text) == []


# Footnotes and link definitions


@pytest.mark.parametrize(
    ("use", "definition"),
    [("[text][a]", "[a]: http://example.org"), ("[^1]", "[^1]: A note.\n\n    More.")],
)
def test_a_definition_that_is_needed_stays(use, definition):
    for left_out in ("---\ntype: topic\n---\n\n# B\n\nGone.\n\n{}\n", "::: exercise\nGone.\n\n{}\n:::\n"):
        assert knitted(f"See {use}.\n\n{left_out.format(definition)}") == f"See {use}.\n\n{definition}\n"


def test_of_several_definitions_those_that_are_needed_stay():
    text = "See [x][b].\n\n---\ntype: topic\n---\n\n# B\n\nx [^1]\n\n[^1]: A note.\n\n[a]: http://a\n[b]: http://b\n"
    assert "[b]: http://b" in knitted(text)
    assert "note" not in knitted(text)


def test_a_footnote_that_only_a_part_left_out_refers_to_goes_with_it():
    exercise = "::: exercise\nWhy?[^s]\n:::\n\n"
    note = "[^s]: The answer.\n\n    More.\n"
    text = f"Text.[^t]\n\n{exercise}[^t]: Stays.\n{note}"
    assert knitted(text).split() == ["Text.[^t]", "[^t]:", "Stays."]
    assert "answer" not in str(chunks_of(text)) and "Stays" in str(chunks_of(text))
    assert "answer" in knitted(f"Text.[^s]\n\n{exercise}{note}")


def test_a_footnote_before_a_colon_is_referred_to():
    exercise = "::: exercise\nWhy[^s]: think.\n:::\n\n"
    note = "[^s]: The answer.\n"
    assert "answer" in knitted(f"This[^s]: is so.\n\n{exercise}{note}")
    assert "answer" not in knitted(f"This is so.\n\n{exercise}{note}")
    assert "answer" not in knitted(f"This is so.\n\n{exercise}{note}\n> [^s]: Defined again.\n")


def test_code_that_looks_like_a_footnote_stays():
    exercise = "::: exercise\nWhy?[^s]\n:::\n\n"
    code = "```\n[^s]: text\n```\n"
    note = "[^s]: An answer.\r\n\r\n    ```\r\n    code\r\n    ```\r\n"
    assert knitted(f"Text.\n\n{exercise}{code}") == f"Text.\n\n{code}"
    assert knitted(f"Text.\n\n{exercise}{code}\n{note}\nEnd.\n").split() == ["Text.", *code.split(), "End."]


def chunks_of(text):
    return [block.source for block in scan_split(parse_markdown_text(text)) if isinstance(block, ChunkBlock)]


# The rest is the writer's


@pytest.mark.parametrize("end", ["\n", "\n\n\n", "", "\n\ufefftext  \n"])
def test_a_document_without_anything_to_leave_out_stays(end):
    text = "---\ntitle: T\n---\n\n# A\n\n* item\n\n  more" + end
    assert knitted(text) == text


@given(markdown())
def test_no_metadata_is_left(text):
    made = parse_markdown_text(knitted(text))
    header = made[0].content if made and isinstance(made[0], HeaderBlock) else {}
    assert not any(key.startswith("~") for key in header)
    assert not any(isinstance(block, MetadataBlock) for block in made[1:])


@example("> <!-- lmm\n\n---\nkey: value\n---\n\n\n<!-- lmm\nkey: value\n-->\n\n")
@given(markdown())
def test_knitting_twice_is_knitting_once(text):
    twice, problems = knitted(knitted(text)), []
    parse_markdown_text(twice, problems)
    assume(not problems)  # a fence below a removed block may become part of the list above, and end elsewhere
    assert twice == knitted(text)


def test_annotating_does_not_change_the_notes_by_a_byte():
    text = f"---\ntitle: T\n---\n\n# A\n{LONG}\n\n\n## B\n\n{LONG}\n\n::: exercise\nx\n:::\n\n- a\n\n\n- b"
    assert knitted(annotate(text)) == knitted(text)
