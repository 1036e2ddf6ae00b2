"""The index of the words of an ask box's data: what it says, in which shards, and what a question loads of it."""

import json
import shutil
import subprocess
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.languages.words import find_words, fold
from lmm_core.quarto.ask_box import word_index
from lmm_core.quarto.ask_box.data import PART, box_data, data_files, data_json
from lmm_core.quarto.ask_box.rows import BoxRows
from lmm_core.quarto.ask_box.word_index import DIGITS, SHARD, index_words, pack
from tests.commands import write
from tests.retrieve.questions import BOX, ROOT

FIELDS = ("title", "questions", "summary", "terms", "text")
WORDS = st.lists(
    st.sampled_from("mean median Übung 統計学 the l'erreur don't \U00020000\U00020001 ﬁt x".split()), max_size=6
)
TEXTS = WORDS.map(" ".join)
PASSAGES = st.one_of(TEXTS, st.tuples(TEXTS, st.sampled_from(("", "exercise", "topic")), st.just(""), TEXTS).map(list))
ROWS = st.lists(
    st.tuples(st.just(0), st.integers(0, 3), TEXTS, st.just("a"), st.just(1.0), TEXTS, st.lists(TEXTS, max_size=2),
              st.lists(PASSAGES, max_size=3)).map(list),
    max_size=8,
)  # fmt: skip


def numbers(packed):
    """The numbers in a text, as index.js reads them."""
    found, number, shift = [], 0, 0
    for sign in packed:
        value = DIGITS.index(sign)
        number |= (value & 31) << shift
        shift += 5
        if value < 32:
            found.append(number)
            number = shift = 0
    return found


@given(st.lists(st.integers(0, 2**31)))
def test_numbers_are_read_as_they_were_written(written):
    assert numbers("".join(map(pack, written))) == written


def number(one):
    """The number that a sign is, as index.js reads it."""
    return ord(one) - ord("#")


@given(st.integers(0, 2**31))
def test_a_number_is_one_sign_also_in_a_file(written):
    made = json.loads(data_json([word_index.sign(written)]))[0]
    assert len(made.encode("utf-16-le")) == 2 and number(made) == min(written, 55_000)


def postings(index):
    """(word, field, text): how often."""
    found = {}
    for _, shard in index.shards:
        for line in shard.split("\n"):
            word, packed = line.split(" ")
            left = iter(numbers(packed))
            for head in left:
                number, field = divmod(head, len(FIELDS))
                text = 0
                for _ in range(number):
                    step = next(left)
                    text += step >> 1
                    found[word, FIELDS[field], text] = next(left) + 2 if step & 1 else 1
    return found


def texts(rows):
    """The fields of each text."""
    path = []
    for _, depth, title, _, _, summary, questions, passages in rows:
        path = [*path[:depth], *[""] * (depth - len(path)), title]
        titles = [one for one in path if one]
        titles = [one for at, one in enumerate(titles) if at == 0 or one != titles[at - 1]]
        if title or summary or questions:
            yield {"title": " ".join(titles), "questions": " ".join(questions), "summary": summary}
        for passage in passages:
            yield {"terms": "", "text": passage} if isinstance(passage, str) else {
                "terms": passage[3], "text": passage[0]}  # fmt: skip


@given(ROWS)
def test_it_has_each_word_of_each_text_and_no_other(rows):
    wanted = {
        (word, name, at): times
        for at, fields in enumerate(texts(rows))
        for name, text in fields.items()
        for word, times in Counter(map(fold, find_words(text))).items()
        if word != "the"
    }
    index = index_words(rows, "the")
    assert postings(index) == wanted
    assert index.count == len(list(texts(rows)))
    assert [list(map(number, column)) for column in index.columns] == columns(rows, index.types)
    assert {word for words in index.spelling for word in words.split()} == {word for word, *_ in wanted}


def columns(rows, types):
    """Read the columns: of each text how many words its fields have, and of a passage its type."""
    kinds = iter(0 if isinstance(one, str) else ["", *types].index(one[1]) for row in rows for one in row[7])
    counts = [[len(set(map(fold, find_words(text)))) for text in fields.values()] for fields in texts(rows)]
    table = [one if len(one) == 3 else [*one, next(kinds)] for one in counts]
    return [[text[at] for text in table] for at in range(3)]


def section(title, text, depth=1):
    return [0, depth, title, "", 1.0, "", [], [text]]


def page(sections):
    """The rows of a page that shows one document."""
    rows = BoxRows()
    if sections:
        rows.add("a.html", "a.md", sections)
    return rows


def test_parts_begin_with_the_titles_above():
    rows = [section("Book", "", 0), *(section(f"S{at}", "words " * 400, at % 3 + 1) for at in range(60))]
    data = {name: json.loads(text) for name, text in box_data(page(rows), "en").texts.items()}
    firsts = data["data"]["parts"]
    parts = [data[f"part-{number}"] for number in range(1, len(firsts) + 1)]
    assert [row for _, *part in parts for row in part] == rows
    assert firsts[0] == 0 and [len(part) - 1 for part in parts] == [b - a for a, b in pairwise([*firsts, len(rows)])]
    assert all(len(json.dumps(part)) < PART + 2_500 for part in parts)
    above = next(part[0] for first, part in zip(firsts, parts, strict=True) if rows[first][1] == 3)
    assert [title[0] for title in above] == ["B", "S", "S"]


def test_the_mark_of_a_page_hangs_on_its_sections():
    rows = [section("Book", "An oak."), section("Tree", "An elm.")]
    marks = box_data(page(rows), "en").pages
    assert box_data(page(rows), "en").pages == marks
    assert box_data(page(rows[:1]), "en").pages["a.html"] != marks["a.html"]
    assert box_data(page([]), "en").pages == {}


def many(number):
    """Sections of which each has words that no other has, as names and places are in notes."""
    return [
        section(f"Section {at}", " ".join(f"{one}{at}" for one in ("oak", "elm", "ash")) + " wood" * 60)
        for at in range(number)
    ]


def test_shards_are_in_the_order_of_javascript_and_of_about_one_size():
    index = index_words([*many(4000), section("\U00020000\U00020001 \uf900 \uac00\ud7a3", "x")], "")
    words = [line.partition(" ")[0] for _, shard in index.shards for line in shard.split("\n")]
    assert words == sorted(words, key=lambda word: word.encode("utf-16-be"))
    assert len(index.shards) > 3 and all(len(shard) <= SHARD for _, shard in index.shards)
    assert [first for first, _ in index.shards] == [shard.partition(" ")[0] for _, shard in index.shards]


def ask(data, *questions, what="loaded"):
    done = subprocess.run(
        ["node", ROOT / "tests" / "box_search.js", BOX, data, what],
        input="\n".join(questions), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_a_question_loads_what_it_needs(tmp_path):
    for name, script in data_files(box_data(page(many(4000)), "en")).items():
        write(tmp_path / name, script)
    first, again, typing_error, nothing = ask(tmp_path, "elm1234", "elm1234", "elm12344x", "zzz")
    assert first[0] == "data" and len(first) == 3 and first[1].startswith("words-") and first[2].startswith("part-")
    assert again == []
    assert "spelling" in typing_error and len(typing_error) <= 4
    assert len([name for name in nothing if name.startswith("part-")]) == 0
    [[hit, *_]] = ask(tmp_path, "oak77", what="sections")
    assert hit["source"] == "a.md"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_the_first_hit_waits_for_no_other(tmp_path):
    for name, script in data_files(box_data(page(many(4000)), "en")).items():
        write(tmp_path / name, script)
    [first], [whole] = ask(tmp_path, "elm12", what="first"), ask(tmp_path, "elm12")
    assert [name.partition("-")[0] for name in first] == ["data", "words", "part"]
    assert first == whole[:3] and len(whole) > 4


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on PATH")
def test_sections_without_texts_stand_before_one_that_is_found(tmp_path):
    empty = [[0, 1, "", "", 1.0, "", [], []] for _ in range(9)]
    for name, script in data_files(box_data(page([*empty, section("", "An oak.")]), "en")).items():
        write(tmp_path / name, script)
    [[snippet]] = ask(tmp_path, "oak", what="snippets")
    assert snippet == "An oak."
