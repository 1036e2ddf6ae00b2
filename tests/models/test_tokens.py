"""Tokens are estimated."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmm_core.models.tokens import count_tokens
from tests.strategies import LONG, PROSE, any_text, markdown


@given(st.text(st.characters(max_codepoint=127)))
def test_a_token_for_each_sign_and_for_each_six_letters_of_a_word(text):
    assert count_tokens(text) == len(re.findall(r"\w{1,6}|[^\w\s]", text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("word", 1),
        ("heteroscedasticity", 3),
        ("two words", 2),
        ("a, b.", 4),
        ("$\\bar{x}$", 7),
        ("平均", 1),
        ("平均値とは", 3),
        ("🙂", 1),
        ("Größe", 2),
    ],
)
def test_an_estimate(text, tokens):
    assert count_tokens(text) == tokens


@pytest.mark.parametrize("text", [PROSE, LONG, LONG * 20])
def test_english_prose_has_about_four_tokens_for_three_words(text):
    words = len(text.split())
    assert 1.05 * words < count_tokens(text) < 1.6 * words


def test_chinese_counts_by_its_signs():
    text = "平均数是总和除以个数" * 10
    assert len(text) / 3 < count_tokens(text) < len(text) * 1.5


def test_long_texts_are_counted_quickly():
    assert count_tokens("word " * 200_000) == 200_000
    assert count_tokens("x" * 600_000) == 100_000


@given(st.text() | markdown(), st.text() | markdown())
def test_an_estimate_grows_with_the_text(one, other):
    together = count_tokens(one + other)
    assert max(count_tokens(one), count_tokens(other)) <= together
    assert together <= count_tokens(one) + count_tokens(other)


@given(st.text(st.characters(codec=None)))
def test_every_string_has_a_number_of_tokens(text):
    assert (count_tokens(text) == 0) == (not text.strip())


@given(any_text)
def test_no_more_tokens_than_bytes(text):
    assert count_tokens(text) <= len(text.encode())
