"""Cutting any markdown into windows: their sizes, places, titles, and files."""

import random
from itertools import pairwise

import yaml
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.crawl.catalogue import snippet_file
from lmm_core.crawl.reader import LEAST, MOST, cut_windows
from lmm_core.indexing.encoding import EncodingModel
from lmm_core.indexing.passages import read_passage
from lmm_core.models.tokens import count_tokens
from lmm_core.store.vector_store import ScoredPoint
from tests.crawl.indexed import read_snippet_file

WORDS = "mean variance of the sample is small and residuals are plotted against fitted values in each group".split()


def prose(tokens, seed=0):
    """Return sentences of about so many tokens."""
    chance = random.Random(seed)
    sentences, size = [], 0
    while size < tokens:
        sentences.append(" ".join(chance.choices(WORDS, k=chance.randint(5, 12))).capitalize() + ".")
        size += count_tokens(sentences[-1])
    return " ".join(sentences)


def paragraphs(*sizes):
    return "\n\n".join(prose(size, seed) for seed, size in enumerate(sizes)) + "\n"


def cut(text, path="a.md", index="docs"):
    return cut_windows(text, f"{index}/{path}", path, EncodingModel.BM25)


def bodies(text):
    return [window.content for window in cut(text)]


def lines_of(window):
    return window.payload["line_start"], window.payload["line_end"]


def within_bounds(bodies):
    return all(LEAST <= count_tokens(body) <= MOST for body in bodies)


# Sizes


def test_short_sections_are_joined_with_others_of_their_chapter():
    sections = [f"## Part {number}\n\n{prose(20, number)}" for number in range(8)]
    assert bodies("\n\n".join(sections)) == ["\n\n".join(sections[:4]), "\n\n".join(sections[4:])]
    chapter = f"# One\n\n{prose(100)}\n\n## Last\n\nShort."
    other = f"# Other\n\n{prose(100, 1)}"
    assert bodies(f"{chapter}\n\n{other}\n") == [chapter, other]


def test_cuts_are_between_paragraphs_and_repeat_a_fifth():
    windows = bodies(paragraphs(*[60] * 20))
    assert all(body.endswith(".") for body in windows)
    assert all(0 < count_tokens(overlap(*pair)) <= 48 for pair in pairwise(windows))


def overlap(before, after):
    return next(after[:size] for size in range(len(after), -1, -1) if before.endswith(after[:size]))


# What is stored of a window


def test_a_window_has_the_titles_above_it_which_are_embedded_and_not_shown():
    text = f"---\ntitle: Guide\n---\n\n# Retries\n\n{prose(100)}\n\n## Settings\n\n{prose(500)}\n"
    first, *others = cut(text)
    assert first.annotations == "Guide - Retries"
    assert {window.annotations for window in others} == {"Guide - Retries - Settings"}
    assert first.texts.sparse == f"Guide - Retries\n\n{first.content}"
    assert first.content.startswith("# Retries")


def test_questions_are_embedded():
    text = f"# Retries\n\nHow often.\n\n---\nquestions: How many?\n---\n\n## Settings\n\n{prose(100)}\n"
    (window,) = cut(text)
    assert window.annotations == "Retries\nHow many?" and "questions" not in window.content


def test_the_id_is_of_the_text_and_its_file_and_stays_where_it_moves():
    text = f"# One\n\n{prose(100)}\n"

    def ident(text=text, path="a.md", index="docs"):
        return cut(text, path, index)[0].uuid

    assert ident() == ident("\n" + text)
    assert len({ident(), ident(path="b.md"), ident(index="x"), ident(text + "More.")}) == 4


# Laws

PARTS = [
    st.integers(1, 500).map(prose),
    st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), st.integers(1, 30).map(prose)),
    st.integers(1, 80).map(lambda size: "```\n" + "code = 1\n" * size + "```"),
    st.integers(1, 80).map(lambda size: "| a | b |\n|---|---|\n" + "| some words | more |\n" * size),
    st.integers(1, 80).map(lambda size: "\n".join(f"- item {number} of it" for number in range(size))),
]
PLAIN = st.lists(st.one_of(PARTS), min_size=1, max_size=5).map("\n\n".join)


def check_lines(text, windows):
    """Check that what a window holds is on the lines that it names."""
    lines = text.split("\n")
    for window in windows:
        first, last = lines_of(window)
        own = [line.strip("\r") for line in window.content.split("\n")]
        repeated = ("```", "| a | b |", "|---|---|")
        assert all(line in "\n".join(lines[first - 1 : last]) for line in own if line not in repeated)


@given(PLAIN)
def test_all_of_a_text_is_in_its_windows(text):
    windows = cut(text)
    check_lines(text, windows)
    assert len(windows) <= 1 or within_bounds(window.content for window in windows)
    covered = {line for window in windows for line in range(lines_of(window)[0], lines_of(window)[1] + 1)}
    held = {word for window in windows for word in window.content.split()}
    for number, line in enumerate(text.split("\n"), 1):
        assert number in covered or not line.strip()
        assert set(line.split()) <= held


# Files


def test_a_snippet_file_is_readable_yaml_and_the_raw_text():
    title = 'ä – "q" \x85: ?'
    (window,) = cut(f"---\ntitle: {title!r}\nlang: de\n---\n\n# Raw {{#a}}\r\n\n---\r\nEnd.", 'a "b".md')
    text = snippet_file("docs", read_passage(ScoredPoint(window.uuid, window.payload)))
    _, head, body = text.split("---\n", 2)
    fields = {
        "id": window.uuid, "index": "docs", "doc_path": 'a "b".md', "title": window.payload["titles"][0],
        "line_start": 6, "line_end": 9, "header": window.annotations, "language": "de",
    }  # fmt: skip
    assert yaml.safe_load(head) == fields
    assert body == f"\n{window.content}\n"
    assert read_snippet_file(text) == fields | {"body": window.content}
