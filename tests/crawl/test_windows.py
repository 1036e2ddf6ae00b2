import random
import re
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lmm_core.crawl.snippets import snippet_file, title_of
from lmm_core.crawl.windows import LEAST, MOST, cut_windows
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.indexing.passages import read_passage
from lmm_core.models.tokens import count_tokens
from lmm_core.store.vector_store import ScoredPoint
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


def cut(text, path="a.md", index="docs", **options):
    return cut_windows(text, f"{index}/{path}", path, EncodingModel.BM25, **options)


def bodies(text, **options):
    return [window.content for window in cut(text, **options)]


def lines_of(window):
    return window.payload["line_start"], window.payload["line_end"]


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


def test_short_sections_are_joined_with_others():
    sections = [f"## Part {number}\n\n{prose(20, number)}" for number in range(8)]
    assert bodies("\n\n".join(sections)) == ["\n\n".join(sections[:4]), "\n\n".join(sections[4:])]


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


def test_a_window_says_where_it_stands():
    text = f"# Retries\n\nHow often.\n\n## Settings\n\n{prose(200)}\n"
    (one,) = cut(text, "use/guide.md")
    assert (one.payload["source"], title_of(one.payload["titles"]), lines_of(one)) == (
        "use/guide.md",
        "Retries",
        (1, 7),
    )


def test_the_titles_are_embedded_and_not_shown():
    text = f"---\ntitle: Guide\n---\n\n# Retries\n\n{prose(100)}\n\n## Settings\n\n{prose(500)}\n"
    first, *others = cut(text)
    assert first.annotations == "Guide - Retries"
    assert {window.annotations for window in others} == {"Guide - Retries - Settings"}
    assert first.texts.sparse == f"Guide - Retries\n\n{first.content}"
    assert first.content.startswith("# Retries")


def test_a_window_of_several_sections_stands_under_the_first_and_the_next_under_its_own():
    text = f"# Book\n\n## Part\n\n{prose(100)}\n\n### Deep\n\n{prose(100, 1)}\n"
    assert [window.annotations for window in cut(text)] == ["Book", "Book - Part - Deep"]


def test_annotations_are_embedded():
    (one,) = cut(DOCUMENT.format("{}", prose(100)))
    assert one.annotations == "Guide - Retries\nHow do I configure retries?"
    assert "questions" not in one.content
    assert lines_of(one) == (6, 16)


def test_what_is_to_be_skipped_is_in_no_window():
    text = f"# One\n\n{prose(100)}\n\n---\nskip: true\n---\n\n## Secret\n\nHidden.\n\n### Deep\n\nHidden, too.\n"
    (one,) = bodies(text)
    assert "idden" not in one and "Secret" not in one
    assert cut("---\nskip: true\n---\n\nHidden.\n") == []


def test_lines_behind_a_byte_order_mark_and_with_crlf():
    text = "\ufeff\r\n# One\r\n\r\n" + paragraphs(*[100] * 6).replace("\n", "\r\n")
    found = cut(text)
    assert found[0].content.startswith("# One") and found[0].payload["line_start"] == 2
    check_lines(text, found)


def test_the_id_is_of_the_text_and_its_file_and_stays_where_it_moves():
    text = f"# One\n\n{prose(100)}\n"

    def ident(text=text, path="a.md", index="docs"):
        return cut(text, path, index)[0].uuid

    assert ident() == ident("\n" + text)
    assert len({ident(), ident(path="b.md"), ident(index="x"), ident(text + "More.")}) == 4


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
    for window in found:
        first, last = lines_of(window)
        there = "\n".join(lines[first - 1 : last])
        own = [line for line in window.content.split("\n") if line.strip("\r") not in ("```", "| a | b |", "|---|---|")]
        assert all(line.strip("\r") in there for line in own)


@given(LINES)
@settings(max_examples=60, deadline=None)
def test_laws_of_windows(text):
    found = cut(text)
    texts = [window.content for window in found if window.payload.get("type") != "summary"]
    assert len(texts) <= 1 or within_bounds(texts)
    assert all(count_tokens(one) <= MOST for one in texts)
    assert len({window.uuid for window in found}) == len(found)
    assert found == cut(text)
    assert all(1 <= first <= last <= text.count("\n") + 1 for first, last in map(lines_of, found))


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
def test_all_of_a_text_is_in_its_windows(text):
    found = cut(text)
    check_lines(text, found)
    covered = {line for window in found for line in range(lines_of(window)[0], lines_of(window)[1] + 1)}
    for number, line in enumerate(text.split("\n"), 1):
        assert number in covered or not line.strip()
        words = set(line.split())
        assert words <= {word for window in found for word in window.content.split()}


# Files


@pytest.mark.parametrize("title", ["T: x", 'ä – "q" \x85?', "--- # no"])
def test_a_snippet_file_is_readable_yaml_and_the_raw_text(title):
    (one,) = cut(f"---\ntitle: {title!r}\nlang: de\n---\n\n# Raw {{#a}}\r\n\n---\r\nEnd.", 'a "b".md')
    text = snippet_file("docs", read_passage(ScoredPoint(one.uuid, one.payload)))
    _, head, body = text.split("---\n", 2)
    expected = {"index": "docs", "doc_path": 'a "b".md', "title": one.payload["titles"][0], "line_start": 6}
    expected |= {"line_end": 9, "header": one.annotations, "language": "de"}
    assert yaml.safe_load(head) == {"id": one.uuid, **expected}
    assert body == f"\n{one.content}\n"
    assert read_snippet_file(text) == {"id": one.uuid, **expected, "body": one.content}
