import random
import re
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.crawl.points import as_text, payload_of, snippet_of
from lmm_core.crawl.snippets import LEAST, MOST, Snippet, slice_text, snippet_file
from lmm_core.models.tokens import count_tokens
from tests.crawl.indexed import read_snippet_file
from tests.strategies import markdown

WORDS = "mean variance of the sample is small and residuals are plotted against fitted values in each group".split()


def prose(tokens, seed=0):
    """Return sentences of about so many tokens."""
    rnd = random.Random(seed)
    sentences = []
    while count_tokens(" ".join(sentences)) < tokens:
        sentences.append(" ".join(rnd.choices(WORDS, k=rnd.randint(5, 12))).capitalize() + ".")
    return " ".join(sentences)


def paragraphs(*sizes):
    return "\n\n".join(prose(size, seed) for seed, size in enumerate(sizes)) + "\n"


def bodies(text, **options):
    return [snippet.body for snippet in slice_text(text, "a.md", "docs", **options)]


def within_bounds(found):
    return all(LEAST <= count_tokens(body) <= MOST for body in found)


# Sizes


def test_a_thousand_tokens_are_at_least_four_snippets_within_the_bounds():
    for text in (paragraphs(*[100] * 10), prose(1000), prose(1000).replace(". ", ".\n")):
        found = bodies(text)
        assert len(found) >= 4
        assert within_bounds(found)


def test_a_short_text_is_one_snippet():
    assert bodies("# Title\n\nA line.\n") == ["# Title\n\nA line."]
    assert bodies("") == bodies(" \n\n") == bodies("---\ntitle: T\n---\n") == []


def test_a_line_of_five_thousand_tokens_is_cut():
    for line in ("x" * 30_000, "word " * 5000, "漢字" * 3000):
        assert len(bodies(line)) > 4
        assert within_bounds(bodies(line))
        assert len({snippet.id for snippet in slice_text(line, "a.md", "docs")}) == len(bodies(line))


def test_sections_stay_whole():
    sections = [f"## Part {number}\n\n{prose(size, number)}" for number, size in enumerate([100, 250, 300, 70])]
    assert bodies("\n\n".join(sections)) == sections


def test_short_sections_are_joined_with_those_after_them():
    sections = [f"## Part {number}\n\n{prose(20, number)}" for number in range(8)]
    assert bodies("\n\n".join(sections)) == ["\n\n".join(sections[:3]), "\n\n".join(sections[3:])]


def test_a_short_section_belongs_to_those_of_its_chapter():
    one = f"# One\n\n{prose(100)}\n\n## Last\n\nShort."
    other = f"# Other\n\n{prose(100, 1)}"
    assert bodies(f"{one}\n\n{other}\n") == [one, other]


def test_a_heading_is_never_cut_off_from_its_text():
    text = "\n\n".join(f"## Part {number}\n\n{paragraphs(*[90] * 5)}" for number in range(5))
    assert not any(re.search(r"## Part \d\s*\Z", body) for body in bodies(text))


def test_what_is_left_over_is_no_small_snippet():
    code = "```\n" + "\n".join(f"value_{number} = {number}" for number in range(75)) + "\n```"
    assert 300 < count_tokens(code) <= MOST
    assert within_bounds(bodies(f"{code}\n\nA last line.\n"))
    assert within_bounds(bodies(f"A first line.\n\n{code}\n"))


def test_cuts_are_between_paragraphs_and_repeat_a_fifth():
    found = bodies(paragraphs(*[60] * 20))
    assert all(body.endswith(".") for body in found)
    repeated = [overlap(one, other) for one, other in pairwise(found)]
    assert all(0 < count_tokens(text) <= 48 for text in repeated)


def overlap(one, other):
    return next(other[:size] for size in range(len(other), -1, -1) if one.endswith(other[:size]))


def test_a_table_is_cut_at_rows_and_its_header_repeated():
    rows = [f"| name {number} | value {number} | remark on it |" for number in range(100)]
    found = bodies("\n".join(["| Name | Value | Remark |", "| --- | --- | --- |", *rows]))
    assert len(found) > 2
    assert all(body.startswith("| Name | Value | Remark |\n| --- |") for body in found)
    assert [row for row in rows if sum(row in body.split("\n") for body in found) == 1] == rows


def test_the_count_of_tokens_may_be_another():
    text = paragraphs(*[100] * 10)
    assert all(64 <= len(body.split()) <= 320 for body in bodies(text, count=lambda text: len(text.split())))


def test_a_section_that_is_too_long_is_not_counted_whole():
    """Its beginning shows that, and each of its paragraphs is counted anyway."""
    counted = []

    def count(text):
        counted.append(len(text))
        return count_tokens(text)

    text = paragraphs(*[100] * 5)
    assert len(bodies(text, count=count)) > 1
    assert max(counted) <= 5 * MOST < len(text)


# What is known of a snippet

DOCUMENT = """---
title: Guide
lmm: {}
---

# Retries

How often it tries.

---
questions: How do I configure retries?
---

## Settings

{}
"""


def test_a_snippet_says_where_it_stands():
    text = f"# Retries\n\nHow often.\n\n## Settings\n\n{prose(200)}\n"
    (one,) = slice_text(text, "use/guide.md", "docs")
    assert (one.index, one.doc_path, one.title) == ("docs", "use/guide.md", "Retries")
    assert (one.line_start, one.line_end) == (1, 7)
    assert one.source == "use/guide.md#L1-L7"
    assert re.fullmatch("[0-9a-f]{32}", one.id)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n\n# Two\n", "One"),
        ("### Deep\n\n## Two\n", "Two"),
        ("### Deep\n\nText.\n", ""),
        ("Text.\n", ""),
        ("---\ntitle: Header\n---\n\n# One\n", "Header"),
    ],
)
def test_the_title(text, title):
    assert [snippet.title for snippet in slice_text(text, "a.md", "docs")] == [title]


def test_the_header_is_embedded_and_not_shown():
    text = f"---\ntitle: Guide\n---\n\n# Retries\n\n{prose(100)}\n\n## Settings\n\n{prose(500)}\n"
    first, *others = slice_text(text, "a.md", "docs")
    assert first.header == "Guide - Retries"
    assert {snippet.header for snippet in others} == {"Guide - Retries - Settings"}
    assert first.embedded == f"Guide - Retries\n\n{first.body}"
    assert first.body.startswith("# Retries")


def test_a_snippet_of_several_sections_has_the_titles_that_all_stand_under():
    text = "# Book\n\n" + "\n\n".join(f"## Part {number}\n\n{prose(30, number)}" for number in range(3))
    assert {snippet.header for snippet in slice_text(text, "a.md", "docs")} == {"Book"}


def test_annotations_are_embedded():
    (one,) = slice_text(DOCUMENT.format("{}", prose(100)), "a.md", "docs")
    assert one.header == "Guide - Retries\nHow do I configure retries?"
    assert "questions" not in one.body
    assert (one.line_start, one.line_end) == (6, 16)


def test_what_is_to_be_skipped_is_in_no_snippet():
    text = f"# One\n\n{prose(100)}\n\n---\nskip: true\n---\n\n## Secret\n\nHidden.\n\n### Deep\n\nHidden, too.\n"
    (one,) = slice_text(text, "a.md", "docs")
    assert "idden" not in one.body and "Secret" not in one.body
    assert slice_text("---\nskip: true\n---\n\nHidden.\n", "a.md", "docs") == []


def test_metadata_inside_a_div_is_no_text():
    text = f"# One\n\n::: note\n---\nquestions: What?\n---\n\n{prose(100)}\n:::\n\nEnd.\n"
    (one,) = slice_text(text, "a.md", "docs")
    assert "What?" not in one.body and "::: note" in one.body
    assert (one.line_start, one.line_end) == (1, 11)


def test_lines_behind_a_byte_order_mark_and_with_crlf():
    text = "\ufeff\r\n# One\r\n\r\n" + paragraphs(*[100] * 6).replace("\n", "\r\n")
    found = slice_text(text, "a.md", "docs")
    assert found[0].body.startswith("# One") and found[0].line_start == 2
    check_lines(text, found)


def test_the_id_is_of_all_that_a_snippet_is():
    text = f"# One\n\n{prose(100)}\n"

    def ident(text=text, path="a.md", index="docs"):
        return slice_text(text, path, index)[0].id

    assert ident() == ident()
    others = [
        ident(path="b.md"),
        ident(index="x"),
        ident("\n" + text),
        ident(text + "More."),
        ident(f"---\ntitle: T\n---\n{text}"),
    ]
    assert len({ident(), *others}) == 6


# Laws

LINES = st.lists(
    st.one_of(
        markdown(),
        st.integers(1, 500).map(prose),
        st.integers(1, 400).map(lambda size: "x" * size * 5),
        st.tuples(st.integers(1, 4), st.integers(0, 60)).map(lambda made: f"{'#' * made[0]} {prose(made[1])}"),
        st.integers(1, 80).map(lambda size: "```\n" + "code = 1\n" * size + "```"),
        st.integers(1, 80).map(lambda size: "| a | b |\n|---|---|\n" + "| some words | more |\n" * size),
        st.integers(1, 80).map(lambda size: "\n".join(f"- item {number} of it" for number in range(size))),
        st.just("***"),
    ),
    max_size=12,
).map("\n\n".join)


def check_lines(text, found):
    lines = text.split("\n")
    for snippet in found:
        there = "\n".join(lines[snippet.line_start - 1 : snippet.line_end])
        own = [line for line in snippet.body.split("\n") if line.strip("\r") not in ("```", "| a | b |", "|---|---|")]
        assert all(line.strip("\r") in there for line in own)


@given(LINES)
@settings(max_examples=60, deadline=None)
def test_laws_of_snippets(text):
    found = slice_text(text, "a.md", "docs")
    assert len(found) <= 1 or within_bounds([snippet.body for snippet in found])
    assert all(count_tokens(snippet.body) <= MOST for snippet in found)
    assert len({snippet.id for snippet in found}) == len(found)
    assert found == slice_text(text, "a.md", "docs")
    assert all(1 <= snippet.line_start <= snippet.line_end <= text.count("\n") + 1 for snippet in found)
    assert [read_snippet_file(snippet_file(snippet)) for snippet in found] == found


PLAIN = st.lists(
    st.one_of(
        st.integers(1, 500).map(prose),
        st.tuples(st.integers(1, 4), st.integers(1, 30)).map(lambda made: f"{'#' * made[0]} {prose(made[1])}"),
        st.integers(1, 80).map(lambda size: "```\n" + "code = 1\n" * size + "```"),
        st.integers(1, 80).map(lambda size: "| a | b |\n|---|---|\n" + "| some words | more |\n" * size),
        st.integers(1, 80).map(lambda size: "\n".join(f"- item {number} of it" for number in range(size))),
    ),
    min_size=1,
    max_size=12,
).map("\n\n".join)


@given(PLAIN)
@settings(max_examples=60, deadline=None)
def test_all_of_a_text_is_in_its_snippets(text):
    found = slice_text(text, "a.md", "docs")
    check_lines(text, found)
    covered = {line for snippet in found for line in range(snippet.line_start, snippet.line_end + 1)}
    for number, line in enumerate(text.split("\n"), 1):
        assert number in covered or not line.strip()
        words = set(line.split())
        assert words <= {word for snippet in found for word in snippet.body.split()}


# Files


def test_a_snippet_file_is_readable_yaml_and_the_raw_text():
    snippet = Snippet(
        "0" * 32, "docs", 'a "b".md', "T: x", 3, 9, "---\n\n# Raw\r\n\n---", "T: x\nä – “q” \u2028\x85?", "de"
    )
    text = snippet_file(snippet)
    _, head, body = text.split("---\n", 2)
    expected = {"index": "docs", "doc_path": 'a "b".md', "title": "T: x", "line_start": 3, "line_end": 9}
    assert yaml.safe_load(head) == {"id": "0" * 32, **expected, "header": snippet.header, "language": "de"}
    assert body == f"\n{snippet.body}\n"
    assert read_snippet_file(text) == snippet


@given(st.text(), st.text(st.characters(exclude_categories=["Cs"])))
def test_a_snippet_file_and_a_payload_give_the_snippet_back(header, body):
    snippet = Snippet("1" * 32, "docs", "a.md", "", 1, 1, body, header)
    assert read_snippet_file(snippet_file(snippet)) == snippet
    assert snippet_of(payload_of("a.md", as_text(snippet))) == snippet
