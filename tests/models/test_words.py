"""The words of a text, and what is remembered of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.embedders.bm25 import Bm25Encoder
from lmm_core.models.languages import words as words_module
from lmm_core.models.languages.stemming import Stemmer
from lmm_core.models.languages.words import WordCache, count_words, find_words

SIGNS = "aDnNtTcsl re_0-9'’‘“”–—….,\u00a0\u2002 \n\x00\x1fßé\u0301ﬁ統計"


@pytest.mark.parametrize(
    "text, words",
    [
        ("It’s the mean—of 3 values…", ["it", "the", "mean", "of", "3", "values"]),
        ("“Don’t”, she said", ["do", "she", "said"]),
        ("x_1\u00a0and\x00y", ["x", "1", "and", "y"]),
    ],
)
def test_signs_of_typesetters_stand_between_words(text, words):
    assert find_words(text) == words


@pytest.mark.parametrize(
    "text, words",
    [
        ("Equation (2.8).", ["equation", "2.8", "2", "8"]),
        ("In 1999. 3 of 1,000", ["in", "1999", "3", "of", "1", "000"]),
        ("v3.11.7b", ["v3.11.7b", "v3", "11", "7b"]),
        ("第9.33节", ["第", "9.33", "9", "33", "节"]),
    ],
)
def test_a_number_with_points_is_a_word_and_so_are_its_parts(text, words):
    assert find_words(text) == words


@given(st.text(alphabet=SIGNS, max_size=30))
def test_a_text_has_the_same_words_beside_one_that_is_not_ascii(text):
    """ASCII is cut in another way, which is quicker."""
    assert find_words("é\n" + text) == ["é", *find_words(text)]


@given(st.text(alphabet="統計学ハกา é\n", max_size=30))
def test_as_many_words_are_counted_as_found(text):
    assert count_words(text) == len(find_words(text))


def test_not_more_words_are_remembered_than_fit(monkeypatch):
    monkeypatch.setattr(words_module, "MOST", 10)
    lengths = WordCache(len)
    assert [lengths["x" * size] for size in range(100)] == list(range(100))
    assert len(lengths) <= 11


def test_very_long_words_and_stop_words_weigh_nothing():
    encoder = Bm25Encoder("en")
    assert encoder.encode(["the median " + 41 * "x"]) == encoder.encode(["median"])


@pytest.mark.parametrize("one, other", [("colours", "color"), ("centre", "centers"), ("normalise", "normalized"),
                                         ("analysing", "analyze"), ("α", "alpha"), ("catalogue", "catalog")])  # fmt: skip
def test_spellings_that_are_compared_as_one(one, other):
    stem = Stemmer("en").stem
    assert stem(one) == stem(other) != ""


def test_a_word_with_one_hyphen_is_also_written_as_one():
    assert find_words("An E-mail, -u and x-y-z") == ["an", "e", "mail", "u", "and", "x", "y", "z", "email", "-u"]
